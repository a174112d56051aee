//! Archives with bytes that depend on their files alone, and the documents that go with a program.

use crate::run::{root, succeed};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The scripts of shells, and where each looks for them below `share`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/evenair"),
    ("zsh", "zsh/site-functions/_evenair"),
    ("fish", "fish/vendor_completions.d/evenair.fish"),
];

/// Documents and examples below `share/doc/evenair`.
const DOCUMENTS: [&str; 11] = [
    "packaging/README.md",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "crates/study/assets/LICENSE-arimo",
    "packaging/debian/gateway.toml",
    "packaging/evenair-multiconn-relay.service",
    "packaging/grafana/evenair-gateway.json",
    "packaging/systemd/evenair-backoff@.service",
    "packaging/systemd/evenair-gateway.service",
    "packaging/systemd/evenair-gateway-clear.service",
];

/// Writes manual pages, completions and documents into a folder that becomes `share`.
pub(crate) fn bring_what_goes_beside(program: &Path, share: &Path) -> Result<()> {
    let pages = share.join("man/man1");
    fs::create_dir_all(&pages)?;
    succeed(Command::new(program).arg("man").arg(&pages).stdout(Stdio::null()))?;
    for (shell, file) in COMPLETIONS {
        let output =
            Command::new(program).args(["completions", shell]).output().context("evenair completions")?;
        ensure!(output.status.success(), "evenair completions {shell}");
        let file = share.join(file);
        fs::create_dir_all(file.parent().context("a file lies in a folder")?)?;
        fs::write(file, output.stdout)?;
    }
    let documents = share.join("doc/evenair");
    fs::create_dir_all(&documents)?;
    for document in DOCUMENTS {
        let name = Path::new(document).file_name().context("a file has a name")?;
        fs::copy(root().join(document), documents.join(name)).with_context(|| document.to_string())?;
    }
    Ok(())
}

/// Packs a folder as NAME.tar.gz, with names in order, of no user, at one time [s since 1970]: the same files make the same bytes.
pub(crate) fn pack(folder: &Path, name: &str, seconds: &str, into: &Path) -> Result<PathBuf> {
    let tar = into.join(format!("{name}.tar"));
    let mut pack = Command::new("tar");
    pack.args(["--create", "--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    pack.args([
        "--mode=u=rwX,go=rX".into(),
        format!("--mtime=@{seconds}"),
        format!("--transform=s,^\\.,{name},"),
    ]);
    succeed(pack.arg("--file").arg(&tar).arg("--directory").arg(folder).arg("."))?;
    compress(&tar)?;
    Ok(into.join(format!("{name}.tar.gz")))
}

/// Compresses a file in its place, without its name and time.
pub(crate) fn compress(file: &Path) -> Result<()> {
    succeed(Command::new("gzip").args(["--best", "--no-name", "--force"]).arg(file))
}

/// The length of a file.
pub(crate) fn bytes_of(file: &Path) -> Result<u64> {
    Ok(fs::metadata(file).with_context(|| file.display().to_string())?.len())
}

/// The machine of an ELF file of 64 bits, least byte first, and whether it wants an interpreter, which loads libraries: the fields
/// `e_machine`, `e_phoff`, `e_phentsize`, `e_phnum`, and a program header of type `PT_INTERP` (elf.h). None, if it is none.
pub(crate) fn elf(file: &[u8]) -> Option<(u16, bool)> {
    const INTERPRETER: u32 = 3;
    let half = |at: usize| Some(u16::from_le_bytes(file.get(at..at + 2)?.try_into().ok()?));
    let headers = usize::try_from(u64::from_le_bytes(file.get(32..40)?.try_into().ok()?)).ok()?;
    let (size, count) = (usize::from(half(54)?), usize::from(half(56)?));
    if file.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let kind = |k: usize| {
        file.get(headers + k * size..)?.get(..4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    };
    Some((half(18)?, (0..count).any(|k| kind(k) == Some(INTERPRETER))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_files_make_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        fs::create_dir_all(from.join("b")).unwrap();
        let packed = |names: &[&str], into: &str| {
            for name in names {
                let _ = fs::remove_file(from.join(name));
                fs::write(from.join(name), "text").unwrap();
            }
            let into = folder.path().join(into);
            fs::create_dir_all(&into).unwrap();
            fs::read(pack(&from, "it-1", "86400", &into).unwrap()).unwrap()
        };
        // Made in another order, hence at other times and places in the folder.
        assert_eq!(packed(&["a", "b/c"], "one"), packed(&["b/c", "a"], "two"));
        let list = Command::new("tar").arg("tf").arg(folder.path().join("one/it-1.tar.gz")).output().unwrap();
        assert_eq!(String::from_utf8(list.stdout).unwrap(), "it-1/\nit-1/a\nit-1/b/\nit-1/b/c\n");
    }

    #[test]
    fn static_programs_are_told_from_others() {
        // A file of nothing but its header and one program header, by the tables in elf.h.
        let file = |kind: u8| {
            let mut file = vec![0_u8; 64 + 56];
            file[..6].copy_from_slice(b"\x7fELF\x02\x01");
            (file[18], file[32], file[54], file[56]) = (62, 64, 56, 1);
            file[64] = kind;
            file
        };
        assert_eq!(elf(&file(1)), Some((62, false)));
        assert_eq!(elf(&file(3)), Some((62, true)));
        assert_eq!(elf(b"#!/bin/sh\n"), None);
    }
}
