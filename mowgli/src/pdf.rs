//! Pictures as PDF: LaTeX typesets their TikZ, one picture on each page.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::error::{Code, InputError};

/// The beginning of a document whose pages are as large as their pictures.
const HEAD: &str = "\\documentclass{article}\n\\usepackage{tikz}\n\\newcommand\\mowgliPage{\
    \\pdfpagewidth\\dimexpr\\wd0+12pt\\relax\\pdfpageheight\\dimexpr\\ht0+\\dp0+12pt\\relax\
    \\pdfhorigin6pt\\pdfvorigin6pt\\shipout\\box0 }\n\\begin{document}\n";

/// Returns a picture in TikZ as a page for [`write`].
pub(crate) fn page(tikz: &str) -> String {
    const END: &str = "\\end{tikzpicture}";
    let boxed = tikz.replacen("\\begin{tikzpicture}", "\\setbox0\\hbox\\bgroup\\begin{tikzpicture}", 1);
    // A space behind the picture would be a part of the page.
    boxed.replacen(END, &format!("{END}\\egroup\\mowgliPage"), 1)
}

/// Runs pdflatex.
fn pdflatex(args: &[impl AsRef<OsStr>]) -> Result<Output, InputError> {
    Command::new("pdflatex").args(args).output().map_err(|e| failed(&format!("cannot be started: {e}")))
}

fn failed(why: &str) -> InputError {
    let help = "install LaTeX with TikZ (Debian: texlive-latex-base and texlive-pictures), or draw with --svg";
    InputError::new(Code::Tool, format!("--pdf needs pdflatex, which {why}")).help(help)
}

/// Returns an error if there is no pdflatex.
pub(crate) fn is_there() -> Result<(), InputError> {
    pdflatex(&["--version"]).map(|_| ())
}

/// Writes pages to a file.
pub(crate) fn write(file: &Path, pages: &str) -> Result<(), InputError> {
    let folder = std::env::temp_dir().join(format!("mowgli-pdf-{}", std::process::id()));
    std::fs::create_dir(&folder).map_err(|e| InputError::file(&folder, e))?;
    let written = typeset(&folder, pages)
        .and_then(|pdf| std::fs::copy(pdf, file).map(|_| ()).map_err(|e| InputError::file(file, e)));
    let _ = std::fs::remove_dir_all(&folder);
    written
}

/// Typesets pages in a folder, and returns the PDF.
fn typeset(folder: &Path, pages: &str) -> Result<PathBuf, InputError> {
    let document = folder.join("picture.tex");
    std::fs::write(&document, format!("{HEAD}{pages}\\end{{document}}\n"))
        .map_err(|e| InputError::file(&document, e))?;
    let to = format!("-output-directory={}", folder.display());
    let ran =
        pdflatex(&[OsStr::new("-interaction=nonstopmode"), "-halt-on-error".as_ref(), to.as_ref(), document.as_ref()])?;
    if ran.status.success() {
        return Ok(document.with_extension("pdf"));
    }
    let log = String::from_utf8_lossy(&ran.stdout);
    let error = log.lines().find(|line| line.starts_with('!')).unwrap_or("! there is no message");
    Err(failed(&format!("reports: {}", error.trim_start_matches("! "))))
}
