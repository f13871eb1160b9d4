#!/bin/sh
# Makes a stand-in for the image node:24-slim if no registry can be reached, from parts of the machine: the
# node of the dev dependency, its shared libraries, and busybox as the shell. The tests can then build the
# examples' own Dockerfiles. An existing image of that name is never replaced.
set -eu

name=node:24-slim
if docker image inspect "$name" >/dev/null 2>&1; then
  exit 0
fi

here=$(cd "$(dirname "$0")" && pwd)
node=$("$here/../../node_modules/.bin/node" -p process.execPath)
busybox=$(command -v busybox)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

mkdir -p "$root/bin" "$root/usr/bin" "$root/usr/local/bin" "$root/etc" "$root/root" "$root/home/node"
mkdir -m 1777 "$root/tmp"
cp "$node" "$root/usr/local/bin/node"
ldd "$node" | grep -o '/[^ ]*' | xargs -I{} cp -L --parents {} "$root"
# The rest of glibc, which native modules of models may need.
dpkg -L libc6 | grep -E '/lib[a-z_]+\.so\.[0-9]+$' | xargs -I{} cp -L --parents {} "$root"
cp "$busybox" "$root/bin/busybox"
for applet in $("$busybox" --list | grep -vx busybox); do
  ln -s busybox "$root/bin/$applet"
done
ln -s /bin/env "$root/usr/bin/env"
printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' 'node:x:1000:1000::/home/node:/bin/sh' >"$root/etc/passwd"
printf '%s\n' 'root:x:0:' 'node:x:1000:' >"$root/etc/group"

tar -C "$root" --owner=0 --group=0 -c . | docker import \
  --change 'ENV PATH=/usr/local/bin:/usr/bin:/bin' \
  --change 'CMD ["node"]' \
  --change 'LABEL auspex.stand-in=true' \
  --message 'stand-in for tests, made by test/docker/base.sh' \
  - "$name" >/dev/null
echo "made a stand-in for $name with node $("$node" --version)"
