//! The only place that writes to the terminal: results to stdout, everything else to stderr.
//!
//! A message may quote anything: names, arguments, lines of job files. What a terminal would obey in it is shown as
//! `\u{1b}`, by [`error`] and [`remark`] all of it, line breaks too, by [`print`] and [`aside`] all but the line breaks, tabs
//! and styles of a text that the report made.

use std::io::{self, Write};

use straddle::report::escape::{page, terminal};
use straddle::report::text::ERROR;

/// Writes results; styles are stripped where they do not belong.
pub(crate) fn print(text: &str) -> io::Result<()> {
    anstream::stdout().write_all(page(text).as_bytes())
}

/// Writes a script byte by byte: the names in it have to be the names that they are.
pub(crate) fn script(text: &str) -> io::Result<()> {
    io::stdout().write_all(text.as_bytes())
}

/// stdout for long results: styles are stripped where they do not belong, and what is left is written in large pieces.
pub(crate) fn stdout() -> Box<dyn Write> {
    let raw = io::stdout();
    match anstream::AutoStream::choice(&raw) {
        anstream::ColorChoice::Never => Box::new(Plain(io::BufWriter::new(raw))),
        _ => Box::new(io::BufWriter::new(anstream::stdout())),
    }
}

/// Strips styles from whole texts: no style begins in one write and ends in the next.
///
/// `anstream`'s own stream takes any bytes, and so has to decode UTF-8 as well.
struct Plain<W>(W);

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                for piece in anstream::adapter::strip_str(text) {
                    self.0.write_all(piece.as_bytes())?;
                }
            }
            Err(_) => {
                for piece in anstream::adapter::strip_bytes(bytes) {
                    self.0.write_all(piece)?;
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// stdout for a long document, in large pieces: there are no styles in it, and what a terminal would obey it has escaped itself.
pub(crate) fn document() -> io::BufWriter<io::Stdout> {
    io::BufWriter::with_capacity(64 << 10, io::stdout())
}

/// Columns of the terminal; 100 where there is none.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0))
}

/// Says on stderr what went wrong. A stderr that cannot be written to is ignored: there is nowhere left to say so.
pub(crate) fn error(message: &str) {
    let message = terminal(message);
    let _ = writeln!(anstream::stderr(), "{ERROR}error{ERROR:#}: {message}");
}

/// Says on stderr what ended the command.
pub(crate) fn failure(cause: &anyhow::Error) {
    match cause.downcast_ref() {
        Some(Lines(lines)) => {
            let (first, rest) = lines
                .split_first()
                .map_or(("", [].as_slice()), |(first, rest)| (first.as_str(), rest));
            error(first);
            rest.iter().for_each(|line| remark(line));
        }
        None => error(&chain(cause)),
    }
}

/// The one kind of error that is told in several lines; a line break inside of another error came from outside.
#[derive(Debug)]
pub(crate) struct Lines(pub(crate) Vec<String>);

impl std::fmt::Display for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for Lines {}

/// An error and what caused it, in one line. A cause that the message in front of it quotes already is left out.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |mut line, cause| {
        let cause = cause.to_string();
        if !line.contains(&cause) {
            if !line.is_empty() {
                line.push_str(": ");
            }
            line.push_str(&cause);
        }
        line
    })
}

/// Says something on stderr that is not an error, in one line.
pub(crate) fn remark(message: &str) {
    let _ = writeln!(anstream::stderr(), "{}", terminal(message));
}

/// Puts a text that the report made on stderr.
pub(crate) fn aside(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", page(text));
}

pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
            || cause
                .downcast_ref::<serde_json::Error>()
                .and_then(serde_json::Error::io_error_kind)
                == Some(io::ErrorKind::BrokenPipe)
    })
}
