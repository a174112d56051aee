#!/bin/sh
# Runs test programs on Debian's stock kernel, which has what this machine's may lack (fq_codel, CAKE, VLANs, flowtables), in qemu:
# the kernel, BusyBox, the programs and what they ask for are all there is. Nothing is measured there: without KVM it is slow.
#
#   lab/foreign.sh FOLDER COMMAND...
#
# FOLDER keeps the kernel from one run to the next; the words of COMMAND run there, whose first is a program of this machine.
# FOREIGN_QEMU has more options of qemu's: with "-icount shift=auto,sleep=off" time there is instructions, so that no load here disturbs it.
# Ends with 77 where something is missing, else as the command did.
set -eu
folder=$1
shift
missing=
for program in qemu-system-x86_64 busybox cpio apt-get dpkg-deb tc nft ip ethtool; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "$program" > /dev/null || missing="$missing $program"
done
[ "$(uname -m)" = x86_64 ] || missing="$missing x86_64"
if [ -n "$missing" ]; then
    echo "missing:$missing"
    exit 77
fi
PATH="$PATH:/usr/sbin:/sbin"
mkdir -p "$folder"
folder=$(realpath "$folder")

# The newest kernel for clouds: a third of the usual one, with all queues and filters.
kernel() { find "$folder/kernel/boot" -name 'vmlinuz-*' 2> /dev/null | head -n 1; }
if [ -z "$(kernel)" ]; then
    package=$(apt-cache depends linux-image-cloud-amd64 2> /dev/null | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
    if [ -z "$package" ] || ! (cd "$folder" && apt-get -qq download "$package"); then
        echo "missing: a package linux-image-cloud-amd64"
        exit 77
    fi
    dpkg-deb --extract "$folder/$package"_*.deb "$folder/kernel"
fi
version=$(basename "$(kernel)" | sed 's/^vmlinuz-//')

root="$folder/root"
rm -rf "$root"
mkdir -p "$root/bin" "$root/sbin" "$root/usr/sbin" "$root/usr/bin" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/etc" "$root/run"
# A program with the libraries that it asks for.
take() {
    mkdir -p "$root$(dirname "$2")"
    cp -L "$1" "$root$2"
    { ldd "$1" 2> /dev/null || true; } | sed -n "s,^[^/]*\\(/[^ ]*\\) (.*,\\1,p" | while read -r library; do
        [ -e "$root$library" ] || { mkdir -p "$root$(dirname "$library")"; cp -L "$library" "$root$library"; }
    done
}
take "$(command -v busybox)" /bin/busybox
for applet in sh mount modprobe poweroff sleep ls cat uname setsid switch_root cp mkdir; do
    ln -s /bin/busybox "$root/bin/$applet"
done
ln -s /bin/busybox "$root/sbin/modprobe"
for program in tc nft ip ethtool; do take "$(command -v $program)" "/usr/sbin/$program"; done
ln -s /usr/sbin/ip "$root/sbin/ip"
take "$1" /program
shift
modules="$root/lib/modules/$version"
mkdir -p "$modules/kernel"
from="$folder/kernel/lib/modules/$version"
cp "$from"/modules.builtin* "$from/modules.order" "$modules"
(cd "$from" && find kernel/net/netfilter kernel/net/sched kernel/net/bridge kernel/net/8021q kernel/net/802 kernel/net/llc kernel/net/ipv4 \
    kernel/net/ipv6 kernel/lib kernel/drivers/net/veth.ko* kernel/drivers/net/tun.ko* kernel/arch/x86/crypto kernel/crypto -name '*.ko*' | cpio -pdm --quiet "$modules")
busybox depmod -b "$root" "$version"
cat > "$root/init" <<END
#!/bin/sh
export PATH=/usr/sbin:/sbin:/usr/bin:/bin RUST_BACKTRACE=0 ${FOREIGN_ENVIRONMENT:-}
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
ip link set lo up
echo "kernel \$(uname -r)"
/program $*
echo "foreign: status \$?"
poweroff -f
END
chmod +x "$root/init"
(cd "$root" && find . | cpio --create --format=newc --quiet | gzip -1 > "$folder/initrd")
log="$folder/log"
timeout "${FOREIGN_SECONDS:-1800}" qemu-system-x86_64 -machine q35 -cpu max -m 1024 -nographic -no-reboot -net none \
    ${FOREIGN_QEMU:-} -kernel "$(kernel)" -initrd "$folder/initrd" -append "console=ttyS0 quiet panic=-1 rdinit=/init" 2>&1 < /dev/null | tr -d '\r' | tee "$log"
status=$(sed -n 's/.*foreign: status \([0-9]*\).*/\1/p' "$log" | tail -n 1)
exit "${status:-1}"
