#!/bin/sh
# Runs a test program on Debian's stock kernel with simulated radios (mac80211_hwsim), hostapd and iw, in qemu.
#
#   lab/wireless.sh FOLDER PROGRAM EVENAIR [WORD...]
#
# EVENAIR is the command, built with its live commands; PROGRAM gets the words. FOLDER keeps the kernel from one run to the next;
# another one extracted to FOLDER/kernel is taken instead. FOREIGN_QEMU has more options of qemu's, as in lab/foreign.sh. Ends with 77 where something is missing, else as the program did.
set -eu
folder=$1
program=$2
evenair=$3
shift 3
PATH="$PATH:/usr/sbin:/sbin"
missing=
for name in qemu-system-x86_64 busybox cpio apt-get dpkg-deb ip iw hostapd hostapd_cli; do
    command -v "$name" > /dev/null || missing="$missing $name"
done
database=$(find /lib/firmware /usr/lib/firmware -name 'regulatory.db*' 2> /dev/null | grep -E 'regulatory\.db(-debian)?$' | head -n 1)
[ -n "$database" ] || missing="$missing wireless-regdb"
[ "$(uname -m)" = x86_64 ] || missing="$missing x86_64"
if [ -n "$missing" ]; then
    echo "missing:$missing"
    exit 77
fi
mkdir -p "$folder"
folder=$(realpath "$folder")

# The kernel for clouds, which lab/foreign.sh takes, has no Wi-Fi.
kernel() { find "$folder/kernel/boot" -name 'vmlinuz-*' 2> /dev/null | head -n 1; }
if [ -z "$(kernel)" ]; then
    package=$(apt-cache depends linux-image-amd64 2> /dev/null | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
    if [ -z "$package" ] || ! (cd "$folder" && apt-get -qq download "$package"); then
        echo "missing: a package linux-image-amd64"
        exit 77
    fi
    dpkg-deb --extract "$folder/$package"_*.deb "$folder/kernel"
fi
version=$(basename "$(kernel)" | sed 's/^vmlinuz-//')

root="$folder/root"
rm -rf "$root"
mkdir -p "$root/bin" "$root/sbin" "$root/usr/sbin" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/etc" "$root/run" "$root/lib/firmware"
# A program with the libraries that it asks for.
take() {
    mkdir -p "$root$(dirname "$2")"
    cp -L "$1" "$root$2"
    { ldd "$1" 2> /dev/null || true; } | sed -n "s,^[^/]*\\(/[^ ]*\\) (.*,\\1,p" | while read -r library; do
        [ -e "$root$library" ] || { mkdir -p "$root$(dirname "$library")"; cp -L "$library" "$root$library"; }
    done
}
take "$(command -v busybox)" /bin/busybox
for applet in $(busybox --list); do
    [ -e "$root/bin/$applet" ] || ln -s /bin/busybox "$root/bin/$applet"
done
ln -sf /bin/busybox "$root/sbin/modprobe"
rm -f "$root/bin/ip"
for name in ip iw hostapd hostapd_cli; do take "$(command -v $name)" "/usr/sbin/$name"; done
take "$evenair" /usr/sbin/evenair
take "$program" /program
cp -L "$database" "$root/lib/firmware/regulatory.db"
signature=$(echo "$database" | sed 's/regulatory\.db/regulatory.db.p7s/')
[ ! -e "$signature" ] || cp -L "$signature" "$root/lib/firmware/regulatory.db.p7s"
modules="$root/lib/modules/$version"
mkdir -p "$modules/kernel"
from="$folder/kernel/lib/modules/$version"
cp "$from"/modules.builtin* "$from/modules.order" "$modules"
(cd "$from" && find kernel/net/wireless kernel/net/mac80211 kernel/net/rfkill kernel/net/llc kernel/net/802 kernel/lib/crypto kernel/crypto \
    kernel/arch/x86/crypto kernel/drivers/virtio -name '*.ko*' 2> /dev/null | cpio -pdm --quiet "$modules"
    find kernel/drivers/net/wireless -name 'mac80211_hwsim.ko*' | cpio -pdm --quiet "$modules")
find "$modules" -name '*.xz' -exec unxz {} +
busybox depmod -b "$root" "$version"
cat > "$root/init" <<END
#!/bin/sh
export PATH=/usr/sbin:/sbin:/bin RUST_BACKTRACE=0
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
ip link set lo up
echo "kernel \$(uname -r)"
/program $*
echo "wireless: status \$?"
poweroff -f
END
chmod +x "$root/init"
(cd "$root" && find . | cpio --create --format=newc --quiet | gzip -1 > "$folder/initrd")
log="$folder/log"
timeout "${FOREIGN_SECONDS:-600}" qemu-system-x86_64 -machine q35 -cpu max -m 1024 -nographic -no-reboot -net none \
    ${FOREIGN_QEMU:-} -kernel "$(kernel)" -initrd "$folder/initrd" -append "console=ttyS0 quiet panic=-1 rdinit=/init" 2>&1 < /dev/null | tr -d '\r' | tee "$log"
status=$(sed -n 's/.*wireless: status \([0-9]*\).*/\1/p' "$log" | tail -n 1)
exit "${status:-1}"
