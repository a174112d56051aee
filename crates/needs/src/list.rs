//! The list of needs, and the search for programs.

use std::path::PathBuf;

/// A program, or an ability of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The program's name, or the ability in words.
    pub name: &'static str,
    /// The features that are missing without it.
    pub gives: &'static str,
    /// The remedy.
    pub remedy: Remedy,
}

/// The way to get a missing need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A package of Debian and its relatives, which has the program.
    Package(&'static str),
    /// A description of the steps.
    Words(&'static str),
}

const fn program(name: &'static str, package: &'static str, gives: &'static str) -> Need {
    Need { name, gives, remedy: Remedy::Package(package) }
}

const fn ability(name: &'static str, remedy: &'static str, gives: &'static str) -> Need {
    Need { name, gives, remedy: Remedy::Words(remedy) }
}

/// Everything that tests, documents and live commands use beyond Rust, Python and a C compiler.
pub const NEEDS: &[Need] = &[
    program("ip", "iproute2", "the labs of gateway, transport and emulator"),
    program("tc", "iproute2", "tests of the gateway beside tc"),
    program("ss", "iproute2", "tests of congestion controls inside an emulation"),
    program("nft", "nftables", "tests of the gateway beside nft"),
    program("ping", "iputils-ping", "examples of the emulator, tests of the gateway"),
    program("iperf3", "iperf3", "examples of the emulator, load on the gateway"),
    program("curl", "curl", "examples of the transport and the emulator"),
    program("ethtool", "ethtool", "tests of large segments through the gateway"),
    program("tshark", "tshark", "tests of captures"),
    program("slirp4netns", "slirp4netns", "evenair emulate --internet"),
    program("unshare", "util-linux", "labs in namespaces"),
    program("setpriv", "util-linux", "tests as an ordinary user"),
    program("bash", "bash", "tests of scripts in documents"),
    program("cc", "gcc", "congestion controls in C beside the laws in Rust"),
    program("python3", "python3", "the Python module, the site, tests with small servers"),
    program("chromium", "chromium", "tests of the gateway's page and of the playground"),
    program("shellcheck", "shellcheck", "checks of the scripts in packages"),
    program("systemd-analyze", "systemd", "checks of the services in packages"),
    ability(
        "clang",
        "install the version of clang in crates/kernel/objects/COMPILER",
        "tests that the eBPF objects are built from their sources",
    ),
    ability(
        "user namespaces",
        "evenair doctor names the setting of the kernel that allows them",
        "everything live: tests run in namespaces of their own",
    ),
    ability(
        "TUN devices",
        "load the module (modprobe tun) and let users open /dev/net/tun",
        "tests of the emulator",
    ),
    ability("emulation", "run evenair doctor", "tests of the emulator"),
    ability("root", "run as root", "tests between users, and of root's actions"),
    ability(
        "eBPF congestion control",
        "run as root on Linux 6.4 or later with BTF (/sys/kernel/btf/vmlinux)",
        "tests of congestion controls in the kernel",
    ),
    ability("HTB", "load the module (modprobe sch_htb)", "tests of the gateway on the kernel"),
    ability(
        "fq_codel",
        "load the module (modprobe sch_fq_codel)",
        "tests of queues behind the gateway's classes",
    ),
    ability("CAKE", "load the module (modprobe sch_cake)", "tests of queues behind the gateway's classes"),
    ability("nftables", "load the module (modprobe nf_tables)", "tests of the gateway on the kernel"),
    ability("flowtables", "load the module (modprobe nf_flow_table)", "a test of offloaded flows"),
    ability("veth devices", "load the module (modprobe veth)", "tests between namespaces"),
    ability("VLANs", "load the module (modprobe 8021q)", "a test of the gateway on a VLAN"),
    ability("bridges", "load the module (modprobe bridge)", "a test of the gateway on a bridge"),
    ability("IPv6", "enable IPv6 in the kernel", "tests over IPv6"),
    ability("routing", "allow forwarding in namespaces (net.ipv4.ip_forward)", "tests through a router"),
    ability("Landlock", "boot a kernel with Landlock (lsm=landlock,…)", "a test of confinement to folders"),
    ability("seccomp", "boot a kernel with CONFIG_SECCOMP_FILTER", "tests of confinement to system calls"),
    ability("a network", "connect the machine", "a test with an address that is not the loopback's"),
    ability("the Internet", "connect the machine", "examples of evenair emulate --internet"),
    program("qemu-system-x86_64", "qemu-system-x86", "the gateway's tests on Debian's stock kernel"),
    program("qemu-aarch64", "qemu-user", "a run of the released program for aarch64"),
    ability(
        "Python packages",
        "connect the machine; python3 needs venv and pip",
        "ruff, the site, the module's tests",
    ),
    ability(
        "ray",
        "run cargo xtask wheel, which installs it",
        "a test on a cluster's engine of a quarter of a gigabyte",
    ),
    ability("cargo-deny", "cargo install --locked cargo-deny", "a check of advisories and yanked versions"),
    ability("advisories", "read what `cargo deny check` prints", "a check of advisories"),
    ability("cargo-deb", "cargo install --locked cargo-deb", "the package for Debian"),
    ability(
        "cargo-mutants",
        "cargo install --locked cargo-mutants",
        "faults put into the code for tests to find",
    ),
    ability(
        "nightly Rust",
        "rustup toolchain install nightly --profile minimal",
        "fuzzing, and accesses to memory that are checked",
    ),
    ability(
        "the least Rust",
        "rustup toolchain install 1.88 --profile minimal --target thumbv7em-none-eabi",
        "a build by the oldest compiler that is promised",
    ),
    ability(
        "static targets",
        "rustup target add x86_64-unknown-linux-musl aarch64-unknown-linux-musl",
        "programs without libraries: a release, the command for routers",
    ),
    ability("the browsers' target", "rustup target add wasm32-unknown-unknown", "the playground"),
    ability("the playground", "run cargo xtask play", "a test of the playground in Chromium"),
    ability("a commit", "commit, so that the program knows of which commit it is", "a test of kept verdicts"),
];

/// Returns the remedy of a need in words, or an empty text if the list has no such name.
pub fn remedy(name: &str) -> String {
    match NEEDS.iter().find(|need| need.name == name).map(|need| need.remedy) {
        Some(Remedy::Package(package)) => format!("apt install {package}"),
        Some(Remedy::Words(words)) => words.into(),
        None => String::new(),
    }
}

/// Returns the place of a program: on the path, or in the folders of administrators' programs.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|place| place.is_file())
}

/// Checks that programs are installed.
///
/// # Errors
/// The first that is missing.
pub fn find_all(programs: &[&'static str]) -> Result<(), crate::Missing> {
    match programs.iter().find(|program| find(program).is_none()) {
        Some(program) => Err(crate::Missing { need: program, details: "not installed".into() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_differ_and_have_remedies() {
        let names: BTreeSet<&str> = NEEDS.iter().map(|need| need.name).collect();
        assert_eq!(names.len(), NEEDS.len());
        assert!(names.iter().all(|name| !remedy(name).is_empty()));
        assert_eq!(remedy("nft"), "apt install nftables");
        assert_eq!(remedy("a unicorn"), "");
    }

    #[test]
    fn programs_are_found_on_the_path() {
        assert!(find("sh").is_some_and(|place| place.ends_with("sh")));
        assert_eq!(find_all(&["sh", "no-such-program"]).unwrap_err().need, "no-such-program");
    }
}
