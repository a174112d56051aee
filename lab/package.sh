#!/bin/sh
# Installs a package for Debian, again, and purges it, on a copy of this machine that vanishes with this script: all that is written
# goes to memory. As root on Debian or one of its kin.
#
#   lab/package.sh FILE.deb
set -eu
if [ "${PACKAGE_LAB:-}" != inside ]; then
    PACKAGE_LAB=inside exec unshare --mount --net --ipc --uts --pid --fork --kill-child "$0" "$(realpath "$1")"
fi
lab=$(mktemp -d)
mount -t tmpfs tmpfs "$lab"
mkdir "$lab/upper" "$lab/work" "$lab/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$lab/upper,workdir=$lab/work" "$lab/root"
mount -t proc proc "$lab/root/proc"
mount --rbind /dev "$lab/root/dev"
cp "$1" "$lab/root/evenair.deb"
cat > "$lab/root/try.sh" <<'END'
set -eu
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin
dpkg --purge evenair > /dev/null 2>&1 || true
listing() { find /etc /usr/bin /usr/lib/systemd /usr/lib/sysusers.d /usr/share/man /usr/share/doc/evenair /var/lib/evenair 2> /dev/null | sort; }
listing > /before
echo '== install'
dpkg --install /evenair.deb
evenair --version
getent passwd evenair
test -f /usr/lib/systemd/system/evenair-gateway.service
test ! -e /etc/systemd/system/multi-user.target.wants/evenair-gateway.service
cp /usr/share/doc/evenair/examples/gateway.toml /etc/evenair/gateway.toml
sed -i 's/mesh0/lo/' /etc/evenair/gateway.toml
evenair gateway plan > /plan
grep -q 'nft add element inet evenair down4 { 10.0.0.11 : e7a1:10 }' /plan
man -w evenair-gateway 2> /dev/null || test -f /usr/share/man/man1/evenair-gateway.1.gz
echo '== again'
dpkg --install /evenair.deb
test -f /etc/evenair/gateway.toml
mkdir -p /var/lib/evenair/log
echo '== purge'
dpkg --purge evenair
test -f /etc/evenair/gateway.toml
test ! -e /var/lib/evenair
rm -r /etc/evenair
listing > /after
# The user stays, as Debian has it: files of his may be elsewhere.
diff /before /after | grep -v '/etc/\(passwd\|group\|shadow\|gshadow\)-\?$' | grep '^[<>]' && exit 1
echo '== all is as before'
END
chroot "$lab/root" sh /try.sh
