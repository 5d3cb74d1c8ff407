//! Probes in the assembly of a program, for accesses to memory that the hooks of the compiler do not see.
//!
//! **Computes**: the assembly with a call before each instruction that reads or writes memory. The call says which bytes the
//! instruction uses, and how. The runtime skips what a hook has just reported, and words of a frame that no other thread uses.
//!
//! **Invariant**: a probe keeps all registers and flags, so the instruction does the same with it as without it.
//!
//! **Example**: the hooks of `f(b)` for a structure b of 16 bytes report nothing, because the compiler instruments assignments only.
//! The copy is `movq b(%rip), %rdi` and `movq b+8(%rip), %rsi`. Each gets a probe that reads 8 bytes.
//!
//! **Correct because**: gcc and clang print the assembly of AT&T, in which the last operand is the destination and the suffix is the
//! size. An instruction of a form that is not known reports its text, so that the verdict names it. Tests in `mowgli/tests/explored.rs`
//! compare programs that pass, return and copy structures with litmus tests.
//!
//! **Cost**: a pass over the text; a probe takes some ten nanoseconds when the program runs.

use std::fmt::Write as _;

/// A use of memory by an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use<'t> {
    /// The operand, its size in bytes, and whether it is read and written.
    Operand(&'t str, u32, bool, bool),
    /// The same, of a word of its own frame or a `__thread` variable.
    Frame(&'t str, u32, bool, bool),
    /// A copy or a fill of memory whose addresses are in registers: the bytes of an element, and whether it is repeated.
    Copy(u32, bool),
    Fill(u32, bool),
    Fence,
    /// A call by a pointer, which is this operand.
    Call(&'t str),
    /// Something that is not known.
    Unknown,
}

/// Bits of the number that a probe passes beside the size; `runtime/hooks.c` has them, too.
const READS: u32 = 1 << 8;
const WRITES: u32 = 1 << 9;
const COPIES: u32 = 1 << 10;
const FILLS: u32 = 1 << 11;
const REPEATS: u32 = 1 << 12;
const FRAME: u32 = 1 << 13;
const CALLS: u32 = 1 << 14;

/// Returns assembly with probes.
pub(crate) fn probed(assembly: &str) -> String {
    let mut out = String::with_capacity(2 * assembly.len());
    let (mut is_inline, mut is_intel, mut prefixes, mut strings) = (false, false, String::new(), 0);
    let mut in_comment = false;
    for line in assembly.lines() {
        // Lines in the syntax of Intel are not understood.
        if line.contains(".intel_syntax") {
            probe(&mut out, Use::Unknown, "in the syntax of Intel", &mut strings);
            is_intel = true;
        }
        if is_intel {
            let _ = writeln!(out, "{line}");
            is_intel = !line.contains(".att_syntax");
            continue;
        }
        is_inline = match line.trim() {
            "#APP" => true,
            "#NO_APP" => false,
            _ => is_inline,
        };
        // One line of inline assembly may have several instructions.
        let parts = if is_inline { statements(line, &mut in_comment) } else { vec![line.to_owned()] };
        for statement in &parts {
            let (mut label, mut code) = ("", statement.as_str());
            if is_inline
                && let Some((name, rest)) = statement.split_once(':')
                && name.trim().chars().all(|c| c.is_ascii_alphanumeric() || "._$".contains(c))
            {
                (label, code) = (&statement[..name.len() + 1], rest);
            }
            let (prefix, instruction) = prefixed(code);
            if code.trim().is_empty() {
                let _ = writeln!(out, "{label}");
                continue;
            }
            if !prefix.is_empty() && instruction.is_empty() {
                // In `lock; addl $0, 0(%rsp)` the prefix is a statement of its own. It stays beside its instruction.
                let _ = writeln!(out, "{label}");
                prefixes += prefix;
                prefixes.push(' ');
                continue;
            }
            let whole = format!("{prefixes}{prefix}");
            for used in uses(instruction, whole.contains("rep"), whole.contains("lock")) {
                let _ = writeln!(out, "{label}");
                label = "";
                probe(&mut out, used, &format!("{prefixes}{}", code.trim()), &mut strings);
            }
            let _ = writeln!(out, "{label}{prefixes}{code}");
            prefixes.clear();
        }
    }
    out
}

/// Divides a line of inline assembly into its statements, without comments. Those of several lines are open in between.
fn statements(line: &str, in_comment: &mut bool) -> Vec<String> {
    if line.trim_start().starts_with(['#', '/']) && !line.trim_start().starts_with("/*") && !*in_comment {
        return vec![line.to_owned()];
    }
    let (mut all, mut rest, mut in_text) = (vec![String::new()], line, false);
    while let Some(c) = rest.chars().next() {
        let last = all.last_mut().expect("a first statement");
        // A backslash or an apostrophe makes a letter of what is behind it.
        let is_letter = in_text && c == '\\' || !in_text && c == '\'';
        let mut taken = c.len_utf8();
        match (c, &rest[taken..]) {
            _ if *in_comment => {
                let Some(end) = rest.find("*/") else { return all };
                (*in_comment, taken) = (false, end + 2);
                last.push(' ');
            }
            ('/', behind) if !in_text && behind.starts_with('*') => (*in_comment, taken) = (true, 2),
            ('#', _) if !in_text => break,
            (';', _) if !in_text => all.push(String::new()),
            (_, behind) => {
                in_text ^= c == '"';
                let skipped = if behind.starts_with('\\') && !in_text { 2 } else { 1 };
                taken += if is_letter { behind.chars().take(skipped).map(char::len_utf8).sum() } else { 0 };
                taken += usize::from(c == '\'' && is_letter && rest[taken..].starts_with('\''));
                last.push_str(&rest[..taken]);
            }
        }
        rest = &rest[taken..];
    }
    all
}

/// Divides an instruction into its prefixes and the rest; empty if the text is none.
fn prefixed(text: &str) -> (&str, &str) {
    let text = text.split(" #").next().unwrap_or(text).trim();
    if text.starts_with(['.', '#', '/']) || text.ends_with(':') {
        return ("", "");
    }
    let mut rest = text;
    while let Some(word) = rest.split_whitespace().next()
        && ["lock", "rep", "repz", "repe", "repnz", "repne", "notrack", "data16"].contains(&word)
    {
        rest = rest[word.len()..].trim_start();
    }
    (&text[..text.len() - rest.len()], rest)
}

fn probe(out: &mut String, used: Use<'_>, text: &str, strings: &mut usize) {
    let call_of = |out: &mut String, function: &str, address: &str, code: u32| {
        let _ = writeln!(
            out,
            "\tpushq %rdi\n{address}\tpushq %rsi\n\tmovl ${code}, %esi\n\tcall {function}\n\tpopq %rsi\n\tpopq %rdi"
        );
    };
    let call = |out: &mut String, address: &str, code: u32| call_of(out, "__mowgli_probe", address, code);
    let with = |size: u32, reads, writes| size | if reads { READS } else { 0 } | if writes { WRITES } else { 0 };
    match used {
        Use::Operand(operand, size, reads, writes) => {
            call(out, &format!("\tleaq {operand}, %rdi\n"), with(size, reads, writes));
        }
        Use::Frame(operand, size, reads, writes) if operand.starts_with("%fs:") => {
            let address = format!("\tleaq {}, %rdi\n", operand.trim_start_matches("%fs:"));
            call_of(out, "__mowgli_variable", &address, FRAME | with(size, reads, writes));
        }
        Use::Frame(operand, size, reads, writes) => {
            let address = format!("\tleaq {}, %rdi\n", behind_a_push(operand));
            call_of(out, "__mowgli_frame", &address, FRAME | with(size, reads, writes));
        }
        Use::Call(operand) => {
            call_of(out, "__mowgli_call", &format!("\tmovq {}, %rdi\n", behind_a_push(operand)), CALLS);
        }
        Use::Copy(size, repeats) => call(out, "", size | COPIES | if repeats { REPEATS } else { 0 }),
        Use::Fill(size, repeats) => call(out, "", size | FILLS | if repeats { REPEATS } else { 0 }),
        Use::Fence => out.push_str("\tcall __mowgli_mfence\n"),
        Use::Unknown => {
            *strings += 1;
            let shown: String =
                text.chars().map(|c| if c.is_ascii_graphic() && c != '"' && c != '\\' { c } else { ' ' }).collect();
            let _ = writeln!(
                out,
                "\t.pushsection .rodata\n.Lmowgli{strings}:\t.string \"the instruction {shown}\"\n\t.popsection\n\tpushq %rdi\n\
                 \tleaq .Lmowgli{strings}(%rip), %rdi\n\tcall __mowgli_unseen\n\tpopq %rdi"
            );
        }
    }
}

/// Returns an operand as it is called behind a push, which moves the stack pointer.
fn behind_a_push(operand: &str) -> String {
    match operand.strip_prefix("(%rsp") {
        Some(rest) => format!("8(%rsp{rest}"),
        None if operand.contains("(%rsp") => format!("8+{operand}"),
        None => operand.to_owned(),
    }
}

/// Divides operands at the commas outside of parentheses.
fn operands(text: &str) -> Vec<&str> {
    let (mut all, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                all.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    if !text[from..].trim().is_empty() {
        all.push(text[from..].trim());
    }
    all
}

/// True if an operand is memory that others can know, and no constant. Constants below the thread pointer are those of the compiler.
fn is_shared(operand: &str) -> bool {
    let variable = operand.strip_prefix("%fs:");
    let is_own = variable.is_some_and(|rest| rest.bytes().all(|c| c.is_ascii_digit()));
    let is_constant = operand.starts_with(['$', '%', '*', '.']) && variable.is_none();
    !is_own && !is_constant && !operand.contains("@GOT") && !operand.contains("@got") && !operand.contains("@PLT")
}

/// True if an operand is a part of the own frame, or a `__thread` variable. Others can know its address, and hooks do not see that a
/// structure there is passed.
fn is_frame(operand: &str) -> bool {
    if operand.starts_with("%fs:") {
        return true;
    }
    let base = operand.split_once('(').map(|(_, inner)| inner.split([',', ')']).next().unwrap_or_default().trim());
    matches!(base, Some("%rsp" | "%rbp"))
}

/// True if an instruction that accesses memory does nothing with its content.
fn ignores_memory(name: &str) -> bool {
    name.starts_with("lea") || name.starts_with("prefetch") || name.starts_with("nop") || name.starts_with("clflush")
}

fn uses<'t>(instruction: &'t str, repeats: bool, is_locked: bool) -> Vec<Use<'t>> {
    let (name, rest) = instruction.split_once(char::is_whitespace).unwrap_or((instruction, ""));
    let all = operands(rest);
    let size_of_string = |base: &str| name.strip_prefix(base).and_then(suffix);
    if name == "mfence" || name == "cpuid" {
        return vec![Use::Fence];
    }
    if ["rdtsc", "rdtscp", "rdrand", "rdseed"].contains(&name) {
        return vec![Use::Unknown];
    }
    if all.iter().all(|o| o.contains("(%rsi)") || o.contains("(%rdi)"))
        && let Some(size) = size_of_string("movs")
    {
        return vec![Use::Copy(size, repeats)];
    }
    if let Some(size) = size_of_string("stos") {
        return vec![Use::Fill(size, repeats)];
    }
    if repeats || ["cmps", "scas", "lods"].iter().any(|base| size_of_string(base).is_some() && rest.is_empty()) {
        return if name.is_empty() || name.starts_with("ret") || name.starts_with("nop") {
            vec![]
        } else {
            vec![Use::Unknown]
        };
    }
    let jumps = name.starts_with('j') || name.starts_with("call");
    if jumps {
        let is_word = |o: &&str| !o.starts_with('%') && is_shared(o) && !is_frame(o);
        let target = all.first().and_then(|o| o.strip_prefix('*'));
        let read = target.filter(is_word).map(|o| Use::Operand(o, 8, true, false));
        // A jump by a table stays in its function.
        let called = target.filter(|o| name.starts_with("call") || !o.contains(".L")).map(Use::Call);
        return read.into_iter().chain(called).collect();
    }
    let is_memory = |o: &&&str| o.contains('(') || o.starts_with("%fs:") || !o.starts_with(['$', '%', '*']);
    let Some(operand) = all.iter().find(is_memory).copied().filter(|_| !ignores_memory(name)) else { return vec![] };
    if is_locked || name.starts_with("xchg") {
        // A locked instruction that leaves a word of the own frame as it is, for example `lock addl $0, (%rsp)`, is a fence.
        let changes_nothing = ["add", "or", "sub", "xor"].iter().any(|base| name.starts_with(base))
            && matches!(all.first(), Some(&("$0" | "$0x0")));
        return vec![if operand.contains("(%rsp") && changes_nothing { Use::Fence } else { Use::Unknown }];
    }
    if !is_shared(operand) {
        return vec![];
    }
    let is_last = all.last() == Some(&operand);
    let (reads, writes) = directions(name, is_last, all.len());
    // Other stores may overtake it, which no store of the model does.
    let is_weak = name.trim_start_matches('v').starts_with("movnt") && writes;
    match size(name, &all) {
        Some(size) if is_weak && !is_frame(operand) => vec![Use::Unknown, Use::Operand(operand, size, reads, writes)],
        Some(size) if is_frame(operand) => vec![Use::Frame(operand, size, reads, writes)],
        Some(size) => vec![Use::Operand(operand, size, reads, writes)],
        None if is_frame(operand) => vec![],
        None => vec![Use::Unknown],
    }
}

/// Returns whether an instruction reads and writes its operand in memory.
fn directions(name: &str, is_last: bool, count: usize) -> (bool, bool) {
    let begins = |all: &[&str]| all.iter().any(|base| name.starts_with(base));
    let only_reads = [
        "cmp", "test", "bt", "ucomi", "comi", "vucomi", "vcomi", "push", "mul", "div", "idiv", "fld", "fild", "fadd",
        "fsub", "fmul", "fdiv", "fcom", "fucom", "ptest", "ldmxcsr",
    ];
    let only_writes = ["mov", "vmov", "set", "fst", "fist", "fnst", "pop", "stmxcsr", "vextract", "pextr"];
    let is_only_read = begins(&only_reads) && !begins(&["bts", "btr", "btc"]);
    match () {
        () if !is_last || is_only_read || name.starts_with("imul") && count == 1 => (true, false),
        () if begins(&only_writes) && !begins(&["popcnt"]) => (false, true),
        () => (true, true),
    }
}

/// Returns the size that a suffix names.
fn suffix(text: &str) -> Option<u32> {
    match text {
        "b" => Some(1),
        "w" => Some(2),
        "l" => Some(4),
        "q" => Some(8),
        _ => None,
    }
}

/// Returns the number of bytes of memory that an instruction uses.
fn size(name: &str, all: &[&str]) -> Option<u32> {
    let has = |register: &str| all.iter().any(|o| o.starts_with(register));
    let plain = name.strip_prefix('v').unwrap_or(name);
    if has("%xmm") || has("%ymm") || has("%zmm") {
        let four = ["movss", "addss", "subss", "mulss", "divss", "sqrtss", "ucomiss", "comiss", "minss", "maxss"];
        let eight = [
            "movsd", "movlp", "movhp", "addsd", "subsd", "mulsd", "divsd", "sqrtsd", "ucomisd", "comisd", "minsd",
            "maxsd", "cvtps2pd", "cvtdq2pd", "cvtsd2", "cvttsd2", "movddup",
        ];
        let is = |all: &[&str]| all.iter().any(|base| plain.starts_with(base));
        // Its addresses are in a vector, or some elements are left out.
        let is_partial = ["gather", "scatter", "mask", "compress", "expand"].iter().any(|part| plain.contains(part));
        return match plain {
            _ if is_partial => None,
            "movd" => Some(4),
            "movq" => Some(8),
            name if name.contains("broadcast") => match name.chars().last()? {
                'b' => Some(1),
                'w' => Some(2),
                'd' if name.ends_with("sd") => Some(8),
                'd' | 's' => Some(4),
                'q' => Some(8),
                _ => Some(16),
            },
            name if name.starts_with("cvtsi2") => suffix(&name[name.len() - 1..]),
            name if name.starts_with("cvtss2") || name.starts_with("cvttss2") => Some(4),
            _ if is(&eight) => Some(8),
            _ if is(&four) => Some(4),
            name if name.starts_with("pextr") || name.starts_with("pinsr") => suffix(&name[name.len() - 1..]),
            _ if has("%zmm") => Some(64),
            _ if has("%ymm") => Some(32),
            _ => Some(16),
        };
    }
    if let Some(rest) = name.strip_prefix('f') {
        let is_integer = rest.starts_with('i');
        return match (is_integer, rest.chars().last()?) {
            _ if rest.ends_with("cw") || rest.ends_with("sw") => Some(2),
            (false, 's') | (true, 'l') => Some(4),
            (false, 'l') | (true, 'q') => Some(8),
            (true, 's') => Some(2),
            (false, 't') => Some(10),
            _ => None,
        };
    }
    if name.starts_with("set") {
        return Some(1);
    }
    if name.ends_with("mxcsr") {
        return Some(4);
    }
    if let Some(rest) = name.strip_prefix("movz").or_else(|| name.strip_prefix("movs"))
        && rest.len() == 2
    {
        return suffix(&rest[..1]);
    }
    // The last letters of a conditional move are a condition.
    let last = if name.starts_with("cmov") { "" } else { &name[name.len().checked_sub(1)?..] };
    suffix(last).or_else(|| {
        let register = all.iter().find_map(|o| o.strip_prefix('%'))?;
        Some(match register {
            r if r.starts_with('r') && !r.ends_with(['d', 'w', 'b']) => 8,
            r if r.starts_with('e') || r.ends_with('d') => 4,
            r if r.ends_with(['l', 'h', 'b']) => 1,
            _ => 2,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_in_memory_have_sizes_and_directions() {
        let one = |text| uses(text, false, false);
        assert_eq!(one("movq b+8(%rip), %rsi"), [Use::Operand("b+8(%rip)", 8, true, false)]);
        assert_eq!(one("movb $1, (%rax,%rdx,4)"), [Use::Operand("(%rax,%rdx,4)", 1, false, true)]);
        assert_eq!(one("movzbl (%rax), %eax"), [Use::Operand("(%rax)", 1, true, false)]);
        assert_eq!(one("movslq (%rax), %rax"), [Use::Operand("(%rax)", 4, true, false)]);
        assert_eq!(one("movups %xmm0, 16(%rax)"), [Use::Operand("16(%rax)", 16, false, true)]);
        assert_eq!(one("movntiq %rax, (%rdx)"), [Use::Unknown, Use::Operand("(%rdx)", 8, false, true)]);
        assert_eq!(one("cmovl (%rdi), %rax"), [Use::Operand("(%rdi)", 8, true, false)]);
        assert_eq!(one("addl $1, x(%rip)"), [Use::Operand("x(%rip)", 4, true, true)]);
        assert_eq!(one("cmpq $0, (%rdi)"), [Use::Operand("(%rdi)", 8, true, false)]);
        assert_eq!(one("pushq 8(%rax)"), [Use::Operand("8(%rax)", 8, true, false)]);
        assert_eq!(one("fldt (%rax)"), [Use::Operand("(%rax)", 10, true, false)]);
        assert_eq!(one("movsd (%rax), %xmm0"), [Use::Operand("(%rax)", 8, true, false)]);
        for (name, register, size) in [
            ("movd", "xmm", 4),
            ("movq", "xmm", 8),
            ("movdqu", "xmm", 16),
            ("movdqa", "xmm", 16),
            ("vmovdqu", "ymm", 32),
            ("vmovdqu64", "zmm", 64),
            ("vmovd", "xmm", 4),
            ("movddup", "xmm", 8),
            ("vpbroadcastw", "xmm", 2),
            ("vbroadcastsd", "ymm", 8),
            ("vbroadcasti128", "ymm", 16),
        ] {
            let text = format!("{name} (%rax), %{register}0");
            assert_eq!(uses(&text, false, false), [Use::Operand("(%rax)", size, true, false)], "{text}");
        }
        assert_eq!(one("vpgatherdd %ymm2, (%rax,%ymm1,4), %ymm0"), [Use::Unknown]);
        assert_eq!(one("call *16(%rax)"), [Use::Operand("16(%rax)", 8, true, false), Use::Call("16(%rax)")]);
        assert_eq!(one("jmp *%rax"), [Use::Call("%rax")]);
        assert_eq!(uses("movsq", true, false), [Use::Copy(8, true)]);
        assert_eq!(uses("stosq %rax, (%rdi)", true, false), [Use::Fill(8, true)]);
        assert_eq!(one("movq -8(%rbp), %rax"), [Use::Frame("-8(%rbp)", 8, true, false)]);
        assert_eq!(one("movups %xmm0, (%rsp)"), [Use::Frame("(%rsp)", 16, false, true)]);
        assert!(probed("\tmovups %xmm0, (%rsp)\n").contains("leaq 8(%rsp), %rdi"));
        assert_eq!(one("movq %fs:8+x@tpoff, %rax"), [Use::Frame("%fs:8+x@tpoff", 8, true, false)]);
        assert!(probed("\tmovq %fs:(%rax), %rdx\n").contains("leaq (%rax), %rdi"));
        for own in [
            "leaq b(%rip), %rax",
            "movq %fs:40, %rax",
            "movq x@gottpoff(%rip), %rax",
            "jmp *.L4(,%rax,8)",
            "call f",
            "ret",
        ] {
            assert_eq!(one(own), [], "{own}");
        }
    }

    #[test]
    fn inline_assembly_is_seen() {
        let fences = |text: &str| probed(&format!("#APP\n{text}\n#NO_APP\n")).matches("call __mowgli_mfence").count();
        assert_eq!(fences("mfence"), 1);
        assert_eq!(fences("lock; addl $0,0(%rsp)"), 1);
        assert_eq!(fences("1: mfence; nop"), 1);
        assert_eq!(fences("cpuid"), 1);
        assert_eq!(fences("pause"), 0);
        assert_eq!(fences("nop # first; mfence"), 0);
        assert_eq!(fences("nop /* a; mfence\n; mfence */; mfence # a \"; mfence"), 1);
        assert_eq!(fences("lock # before; mfence\naddl $0, (%rsp)"), 1);
        assert_eq!(fences(".ascii \"a # \\\"; mfence\"; mfence"), 1);
        assert_eq!(fences("movb $';, %al; movb $'\\'', %al; mfence"), 1);
        assert!(probed("#APP\nlock xaddl %eax, (%rdx)\n#NO_APP\n").contains("call __mowgli_unseen"));
        assert!(probed("#APP\nmovq %rax, (%rdx)\n#NO_APP\n").contains("call __mowgli_probe"));
    }
}
