#!/bin/sh
# Tries a package for Debian on a copy of this machine that vanishes with this script, systemd and network included; all that is
# written goes to memory. It is installed, serves, is upgraded under traffic, crashes, hangs, goes on
# beside a mistake in its file, cannot be started again, stops, is purged.
# As root, on Debian or one of its kin.
#
#   lab/package.sh FILE.deb [UPGRADE.deb]
set -eu
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ "${PACKAGE_LAB:-}" != inside ]; then
    first=$(realpath "$1")
    second=$(realpath "${2:-$1}")
    mkdir -p "$cgroups/evenair-package-lab"
    # The copy's systemd has this group for its own.
    sh -c 'echo $$ > "$0/evenair-package-lab/cgroup.procs"; PACKAGE_LAB=inside exec unshare --mount --net --ipc --uts --pid --cgroup --fork --kill-child "$@"' \
        "$cgroups" "$0" "$first" "$second" || true
    [ ! -e "$first.log" ] || cat "$first.log"
    find "$cgroups/evenair-package-lab" -depth -type d -exec rmdir {} + 2> /dev/null || true
    tail -n 1 "$first.log" | grep -qx 'all as it should be'
    exit
fi
lab=$(mktemp -d)
mount -t tmpfs tmpfs "$lab"
mkdir "$lab/upper" "$lab/work" "$lab/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$lab/upper,workdir=$lab/work" "$lab/root"
root=$lab/root
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for folder in run tmp dev; do mount -t tmpfs tmpfs "$root/$folder"; done
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
touch "$root/dev/console" "$root/try.log"
: > "$1.log"
mount --bind "$1.log" "$root/try.log"
cp "$1" "$root/first.deb"
cp "$2" "$root/second.deb"
# Of this machine's own services none begins here.
rm -rf "$root/etc/systemd/system"
mkdir "$root/etc/systemd/system"
# Nor one that sets what is the whole machine's.
for service in sysctl udevd udev-trigger modules-load binfmt random-seed update-utmp remount-fs; do
    ln -s /dev/null "$root/etc/systemd/system/systemd-$service.service"
done
: > "$root/etc/fstab"
cat > "$root/etc/systemd/system/try.target" <<'END'
[Unit]
Requires=try.service
AllowIsolate=yes
END
cat > "$root/etc/systemd/system/try.service" <<'END'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
TimeoutStartSec=300
StandardOutput=append:/try.log
StandardError=append:/try.log
ExecStart=/bin/sh /try.sh
ExecStopPost=/bin/systemctl --no-block exit
END
cat > "$root/try.sh" <<'END'
set -eu
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
service=evenair-gateway.service
told() { echo "== $*"; }
trap 'status=$?; [ $status = 0 ] || { systemctl status --no-pager $service || true; journalctl --no-pager -n 30 || true; echo "failed: $status"; }' EXIT
listing() { find /etc /usr/bin /usr/lib/systemd /usr/lib/sysusers.d /usr/share/man /usr/share/doc/evenair /var/lib/evenair 2> /dev/null | sort; }
# Classes with the numbers of their lines, which are others once one is made anew.
classes() { tc class show dev mesh0 | sed -n 's/^class htb \(e7a1:[^ ]*\) .*\(leaf [^ ]*\).*/\1 \2/p' | sort; }
main() { systemctl show --property MainPID --value $service; }
# Waits until a condition holds, 60 s at most.
until_() { for _ in $(seq 600); do if eval "$1"; then return 0; fi; sleep 0.1; done; echo "in vain: $1"; return 1; }
not() { if "$@"; then echo "$* should not be"; exit 1; fi; }
serves() { systemctl --quiet is-active $service && evenair gateway status > /dev/null 2>&1; }

told world
dpkg --purge evenair > /dev/null 2>&1 || true
for place in mesh internet; do ip netns add $place; done
ip link set lo up
ip link add mesh0 type veth peer name eth0 netns mesh
ip link add wan0 type veth peer name eth0 netns internet
ip address add 10.0.0.1/16 dev mesh0
ip address add 192.0.2.1/24 dev wan0
ip link set mesh0 up
ip link set wan0 up
sysctl -qw net.ipv4.ip_forward=1
for place in mesh internet; do ip -n $place link set eth0 up; done
ip -n mesh address add 10.0.0.11/16 dev eth0
ip -n mesh route add default via 10.0.0.1
ip -n internet address add 192.0.2.2/24 dev eth0
ip -n internet route add default via 192.0.2.1
queues=$(tc qdisc show)
listing > /before

told install
dpkg --install /first.deb
evenair --version
getent passwd evenair
not systemctl --quiet is-enabled $service
not systemctl --quiet is-active $service
test -f /usr/share/man/man1/evenair-gateway.1.gz
sed -i 's/^link_rate.*/link_rate = "20 Mbps"/; s/^#mode/mode/' /usr/share/doc/evenair/examples/gateway.toml
cp /usr/share/doc/evenair/examples/gateway.toml /etc/evenair/gateway.toml
sed -i '/^mode/a [law]\nlaw = "pfrc"\nepoch = "1 s"' /etc/evenair/gateway.toml
evenair gateway check

told serve
systemctl enable --now $service
serves
classes > /classes
test "$(wc -l < /classes)" = 4
test "$(ps -o user= -p "$(main)")" = evenair
grep CapEff "/proc/$(main)/status"
grep -q 'CapEff:.*0000000000001000' "/proc/$(main)/status"
systemctl show --property WatchdogUSec,NotifyAccess,User,NoNewPrivileges $service
until_ 'systemctl show --property WatchdogUSec $service | grep -q =10s'
systemctl reload $service

told 'a back-off law without an access point'
backoff=evenair-backoff@wlan0.service
systemctl start $backoff # there is no file
not systemctl --quiet is-active $backoff
not systemctl --quiet is-failed $backoff
echo 'interface = "wlan0"' > /etc/evenair/backoff-wlan0.toml
not evenair backoff check --config /etc/evenair/backoff-wlan0.toml
not systemctl start $backoff
until_ 'journalctl --no-pager --unit $backoff | grep -q "no Wi-Fi\|no such Wi-Fi interface"'
journalctl --no-pager --output cat --unit $backoff | tail -n 4
# It is tried again, for an interface that comes late.
test "$(systemctl show --property ActiveState,SubState,Result --value $backoff | tr '\n' ' ')" = 'activating auto-restart exit-code '
test "$(systemctl show --property User,AmbientCapabilities --value $backoff | tr '\n' ' ')" = 'evenair cap_net_admin '
test "$(stat --format '%U %a' /run/evenair-backoff)" = 'evenair 755'
systemctl stop $backoff

told upgrade
before=$(main)
ip netns exec mesh ping -q -i 0.01 -c 800 -I 10.0.0.11 192.0.2.2 > /ping.log 2>&1 & ping=$!
sleep 1
dpkg --install /second.deb
until_ 'serves && [ "$(main)" != '"$before"' ]'
classes | diff - /classes
wait $ping
grep transmitted /ping.log
grep -q ' 0% packet loss' /ping.log

told crash
before=$(main)
kill -9 "$before"
sleep 0.5
classes | diff - /classes
until_ 'serves && [ "$(main)" != '"$before"' ]'
classes | diff - /classes

told hang
before=$(main)
kill -STOP "$before"
until_ '! tc qdisc show dev mesh0 | grep -q e7a1'
echo "the limits are open: $(tc qdisc show dev mesh0)"
until_ 'serves && [ "$(main)" != '"$before"' ]'
test "$(classes | wc -l)" = 4

told 'a mistake in its file'
before=$(main)
sed -i 's/^mesh = .*/mesh = 7/' /etc/evenair/gateway.toml
kill -9 "$before"
until_ 'serves && [ "$(main)" != '"$before"' ]'
test "$(classes | wc -l)" = 4

told 'cannot be started again'
rm /var/lib/evenair/worked.json # nor is there what worked last
kill -9 "$(main)"
until_ '! tc qdisc show dev mesh0 | grep -q e7a1'
systemctl --quiet is-failed $service
echo "the limits are open: $(tc qdisc show dev mesh0)"
sed -i 's/^mesh = .*/mesh = "mesh0"/' /etc/evenair/gateway.toml
systemctl reset-failed
systemctl start $service

told stop
systemctl stop $service
[ "$(tc qdisc show)" = "$queues" ]
not sh -c 'nft list tables | grep evenair'
systemctl start $service

told purge
dpkg --purge evenair
[ "$(tc qdisc show)" = "$queues" ]
test -f /etc/evenair/gateway.toml
test ! -e /var/lib/evenair
rm -r /etc/evenair
listing > /after
# The user stays, as Debian has it: files of his may be elsewhere. So do systemd's links to what was switched on here.
if diff /before /after | grep '^[<>]' | grep -v '/etc/\(passwd\|group\|shadow\|gshadow\)-\?$' | grep -v /etc/systemd; then exit 1; fi
echo 'all as it should be'
END
export container=lab
exec chroot "$root" /usr/lib/systemd/systemd --system --unit=try.target
