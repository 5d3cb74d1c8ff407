//! The book as pages of a site: the Markdown of `docs` as HTML, with litmus tests that the reader runs in the browser.
//!
//! A page reads as it is. Its scripts add *run*, *edit* and *why* to each litmus test, and answer with the solver of the
//! site.

pub mod highlight;

use include_dir::{Dir, include_dir};
use itertools::Itertools as _;
use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};

use self::highlight::highlighted;
use crate::markup::escaped;

/// The address of the sources, for links that lead out of the book.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

static DOCS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/data/book");
const PAGE: &str = include_str!("book.html");
const STYLE: &str = include_str!("book.css");
const SCRIPT: &str = include_str!("book.js");

/// A chapter as `SUMMARY.md` lists it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Chapter {
    /// The part of the book; empty before the first part.
    part: &'static str,
    title: &'static str,
    /// The name of the file, without its extension.
    name: &'static str,
}

/// Returns the text of a file of the book.
fn text(name: &str) -> &'static str {
    DOCS.get_file(name).and_then(|file| file.contents_utf8()).unwrap_or_default()
}

/// Returns the chapters in their order.
fn chapters() -> Vec<Chapter> {
    let mut part = "";
    let chapter = |line: &'static str| {
        if let Some(title) = line.strip_prefix("# ") {
            part = title;
        }
        let (title, file) = line.trim_start_matches("- ").strip_prefix('[')?.strip_suffix(".md)")?.split_once("](")?;
        // What has a folder of its own has its pages there.
        (!file.starts_with("../")).then_some(())?;
        Some(Chapter { part: if part == "Summary" { "" } else { part }, title, name: file })
    };
    text("SUMMARY.md").lines().filter_map(chapter).collect()
}

/// Returns the files of the book by name: its pages, their style and script, and the pictures. The browser has `seconds`
/// for each test.
#[must_use]
pub fn files(seconds: u64) -> Vec<(String, String)> {
    let chapters = chapters();
    let around = |k: usize| [k.checked_sub(1), Some(k + 1)].map(|at| chapters.get(at?));
    let pages = chapters.iter().enumerate().map(|(k, chapter)| {
        let body = body(text(&format!("{}.md", chapter.name))) + &turns(around(k));
        (format!("{}.html", chapter.name), page(chapter.title, &contents(&chapters, Some(chapter)), &body, seconds))
    });
    let front = format!("<h1>The book</h1>\n{}", contents(&chapters, None));
    let pictures = DOCS.files().filter(|file| file.path().extension().is_some_and(|x| x == "svg"));
    let pictures = pictures
        .filter_map(|file| Some((file.path().file_name()?.to_str()?.to_owned(), file.contents_utf8()?.to_owned())));
    let own = [
        ("book.html".to_owned(), page("The book", "", &front, seconds)),
        ("book.css".to_owned(), STYLE.to_owned()),
        ("book.js".to_owned(), SCRIPT.to_owned()),
    ];
    pages.chain(own).chain(pictures).collect()
}

fn page(title: &str, contents: &str, body: &str, seconds: u64) -> String {
    let head = PAGE.replacen("@TITLE@", &escaped(title), 1).replacen("@SECONDS@", &seconds.to_string(), 1);
    head.replacen("@CONTENTS@", contents, 1).replacen("@BODY@", body, 1)
}

/// Returns the links to all chapters, with a mark at the one that is open.
fn contents(chapters: &[Chapter], open: Option<&Chapter>) -> String {
    let item = |chapter: &Chapter| {
        let current = if open == Some(chapter) { " aria-current=\"page\"" } else { "" };
        format!("<li><a href=\"{}.html\"{current}>{}</a></li>\n", chapter.name, escaped(chapter.title))
    };
    let parts = chapters.iter().chunk_by(|chapter| chapter.part);
    let parts = parts.into_iter().map(|(part, chapters)| {
        let head = if part.is_empty() { String::new() } else { format!("<h2>{}</h2>\n", escaped(part)) };
        format!("{head}<ul>\n{}</ul>\n", chapters.map(item).join(""))
    });
    parts.collect()
}

/// Returns the links to the chapters before and after one.
fn turns([before, after]: [Option<&Chapter>; 2]) -> String {
    let link = |chapter: Option<&Chapter>, rel: &str, word: &str| {
        let link =
            |c: &Chapter| format!("<a rel=\"{rel}\" href=\"{}.html\">{word}: {}</a>\n", c.name, escaped(c.title));
        chapter.map_or_else(String::new, link)
    };
    let links = link(before, "prev", "Before") + &link(after, "next", "Next");
    format!("<nav class=\"turns\" aria-label=\"Neighbours\">\n{links}</nav>\n")
}

/// Returns a page of Markdown as HTML. Headings have anchors, links lead to the pages of HTML, and a litmus test is a
/// block that the script finds.
fn body(markdown: &str) -> String {
    let mut events: Vec<Event<'_>> = Vec::new();
    let mut known = Vec::new();
    let mut litmus = None;
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) if &*language == "litmus" => {
                litmus = Some(String::new());
            }
            Event::Text(text) if litmus.is_some() => litmus.iter_mut().for_each(|test| *test += &text),
            Event::End(TagEnd::CodeBlock) if litmus.is_some() => {
                events.push(Event::Html(block(&litmus.take().unwrap_or_default()).into()));
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                events.push(Event::Start(Tag::Link { link_type, dest_url: target(dest_url), title, id }));
            }
            Event::Start(Tag::Table(columns)) => {
                events.push(Event::Html("<div class=\"wide\">".into()));
                events.push(Event::Start(Tag::Table(columns)));
            }
            Event::End(TagEnd::Table) => {
                events.push(event);
                events.push(Event::Html("</div>\n".into()));
            }
            Event::End(TagEnd::Heading(_)) => {
                name(&mut events, &mut known);
                events.push(event);
            }
            event => events.push(event),
        }
    }
    let mut written = String::new();
    html::push_html(&mut written, events.into_iter());
    // A head without a text names nothing, so it is no head.
    written.replace("<th></th>", "<td></td>")
}

fn block(test: &str) -> String {
    let code = highlighted(test);
    format!("<div class=\"litmus\"><pre><code class=\"language-litmus\">{code}</code></pre></div>\n")
}

/// Returns the target of a link among pages of HTML.
fn target(link: CowStr<'_>) -> CowStr<'_> {
    let (file, anchor) = link.split_at(link.find('#').unwrap_or(link.len()));
    if let Some(outside) = file.strip_prefix("../") {
        return format!("{REPOSITORY}/blob/main/{outside}{anchor}").into();
    }
    match file.strip_suffix(".md").filter(|_| !file.contains("://")) {
        Some(name) => format!("{name}.html{anchor}").into(),
        None => link,
    }
}

/// Gives the heading at the end of these events an anchor: its words in small letters, with a number if it is known.
fn name(events: &mut [Event<'_>], known: &mut Vec<String>) {
    let start = events.iter().rposition(|event| matches!(event, Event::Start(Tag::Heading { .. })));
    let (head, inner) = events.split_at_mut(start.expect("a heading begins before it ends") + 1);
    let words = inner.iter().filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(&**text),
        _ => None,
    });
    let kept = |c: char| match c {
        _ if c.is_whitespace() => Some('-'),
        _ if c.is_alphanumeric() || "_-".contains(c) => Some(c.to_ascii_lowercase()),
        _ => None,
    };
    let slug: String = words.flat_map(str::chars).filter_map(kept).collect();
    let before = known.iter().filter(|other| **other == slug).count();
    if let Some(Event::Start(Tag::Heading { id, .. })) = head.last_mut() {
        *id = Some(if before == 0 { slug.clone() } else { format!("{slug}-{before}") }.into());
    }
    known.push(slug);
}

#[cfg(test)]
mod tests {
    use super::highlight::tests::plain;
    use super::*;
    use mowgli_check::litmus::parse::parse;

    /// Returns what stands between two texts, each time.
    fn between<'t>(text: &'t str, begin: &'t str, end: &'t str) -> impl Iterator<Item = &'t str> {
        text.split(begin).skip(1).filter_map(move |rest| rest.split(end).next())
    }

    #[test]
    fn every_litmus_test_of_the_book_is_a_block_that_can_be_run() {
        let mut count = 0;
        for chapter in chapters() {
            let markdown = text(&format!("{}.md", chapter.name));
            let html = body(markdown);
            let blocks = between(&html, "<div class=\"litmus\"><pre><code class=\"language-litmus\">", "</code>");
            let blocks: Vec<String> = blocks.map(plain).collect();
            assert_eq!(blocks, between(markdown, "```litmus\n", "```").collect::<Vec<_>>(), "{}", chapter.name);
            for test in &blocks {
                parse(chapter.name, test).unwrap_or_else(|error| panic!("{error}"));
            }
            count += blocks.len();
        }
        assert!(count >= 95, "{count} blocks");
    }

    #[test]
    fn links_of_the_book_lead_to_anchors_and_files() {
        let files = files(30);
        let text_of = |name: &str| files.iter().find(|(file, _)| file == name).map(|(_, text)| text.as_str());
        let mut count = 0;
        for (name, html) in files.iter().filter(|(name, _)| name.ends_with(".html")) {
            assert!(!html.contains('@') || !["@BODY@", "@TITLE@", "@CONTENTS@"].iter().any(|part| html.contains(part)));
            let links = between(html, "href=\"", "\"").chain(between(html, "src=\"", "\""));
            let of_site = ["index.html", "page.css", "page.js", "solver.js"];
            for link in
                links.filter(|link| !link.contains("://") && !of_site.contains(link) && !link.starts_with("data:"))
            {
                let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
                let page = if file.is_empty() { Some(html.as_str()) } else { text_of(file) };
                let page = page.unwrap_or_else(|| panic!("{name} links to {link}"));
                assert!(anchor.is_empty() || page.contains(&format!("id=\"{anchor}\"")), "{name} links to {link}");
                count += 1;
            }
        }
        assert!(count >= 1000, "{count} links");
    }

    #[test]
    fn pages_of_the_summary_are_all_pages() {
        let mut listed: Vec<&str> = chapters().iter().map(|chapter| chapter.name).collect();
        listed.push("SUMMARY");
        listed.sort_unstable();
        let all = DOCS.files().map(|file| file.path()).filter(|path| path.extension().is_some_and(|x| x == "md"));
        let mut all: Vec<&str> = all.filter_map(|path| path.file_stem()?.to_str()).collect();
        all.sort_unstable();
        assert_eq!(listed, all);
    }

    #[test]
    fn anchors_are_the_words_of_their_headings() {
        let html = body("# A `b`, c!\n\n# A b c\n\nSee [it](x.md#a-b-c) or [that](https://a.b/c.md).\n");
        assert!(html.contains("<h1 id=\"a-b-c\">A <code>b</code>, c!</h1>\n<h1 id=\"a-b-c-1\">A b c</h1>"), "{html}");
        assert!(html.contains("\"x.html#a-b-c\"") && html.contains("\"https://a.b/c.md\""), "{html}");
    }
}
