#!/bin/sh
# The first process of a User Mode Linux kernel whose root is this machine's, read-only (hostfs).
# Its settings come from the kernel's command line: PYTHON runs the module PROGRAM with ARGUMENTS in the folder PROJECT, and what
# it writes to /run/reports comes to the folder REPORTS.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
for folder in /run /var/lib/nfs; do mount -t tmpfs tmpfs "$folder"; done
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
mkdir -p /var/lib/nfs/v4recovery /run/netns /run/reports /run/modules/lib /dev/pts /dev/shm
mount -t hostfs -o "$REPORTS" none /run/reports
exec >/run/reports/output.txt 2>&1
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /tmp
case $PROJECT in /tmp/*) mkdir -p "$PROJECT" && mount -t hostfs -o "$PROJECT" none "$PROJECT" ;; esac
mount -t tmpfs cgroup /sys/fs/cgroup
for controller in memory freezer; do
    mkdir "/sys/fs/cgroup/$controller"
    mount -t cgroup -o "$controller" "$controller" "/sys/fs/cgroup/$controller" || rmdir "/sys/fs/cgroup/$controller"
done
ln -s /usr/lib/uml/modules /run/modules/lib/modules
for module in nfs nfsv4 nfsd bridge veth sch_tbf; do modprobe -d /run/modules "$module" || echo "no module $module"; done
ip link set lo up
hostname uml
cd "$PROJECT" && PYTHONDONTWRITEBYTECODE=1 "$PYTHON" -m "$PROGRAM" $ARGUMENTS
echo "exit code $?" >/run/reports/ended
sync
exec poweroff -f
