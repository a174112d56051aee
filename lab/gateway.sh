#!/bin/sh
# A gateway between a mesh of three subscribers and the Internet, in namespaces of your own that vanish with this shell.
# The shell is in the gateway, whose devices are mesh0 and wan0. Words: `mesh COMMAND` and `internet COMMAND` run a command there.
#
#   lab/gateway.sh              a shell
#   lab/gateway.sh COMMAND      a command, and that is all
set -e
if [ "$GATEWAY_LAB" != inside ]; then
    GATEWAY_LAB=inside exec unshare --user --map-root-user --net --mount --pid --fork --kill-child --mount-proc "$0" "$@"
fi
PATH="$PATH:/usr/sbin:/sbin"
lab=$(mktemp -d)
process=
unshare --net sleep infinity & mesh=$!
unshare --net sleep infinity & internet=$!
for place in mesh internet; do
    eval "process=\$$place"
    printf '#!/bin/sh\nexec nsenter --target %s --net -- "$@"\n' "$process" > "$lab/$place"
    chmod +x "$lab/$place"
    # The namespace is there as soon as it is not ours.
    while [ "$(readlink "/proc/$process/ns/net")" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
done
PATH="$lab:$PATH"
export PATH

ip link set lo up
ip link add mesh0 type veth peer name eth0 netns "$mesh"
ip link add wan0 type veth peer name eth0 netns "$internet"
ip address add 10.0.0.1/16 dev mesh0
ip address add 192.0.2.1/24 dev wan0
ip link set mesh0 up
ip link set wan0 up
sysctl -qw net.ipv4.ip_forward=1
for place in mesh internet; do "$place" ip link set lo up; "$place" ip link set eth0 up; done
for k in 1 2 3; do mesh ip address add "10.0.0.1$k/16" dev eth0; done
mesh ip route add default via 10.0.0.1
internet ip address add 192.0.2.2/24 dev eth0
internet ip route add default via 192.0.2.1
status=0
if [ $# -gt 0 ]; then "$@" || status=$?; else "${SHELL:-sh}" || status=$?; fi
rm -r "$lab"
exit "$status"
