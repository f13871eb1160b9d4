// A model that looks at its sandbox from inside, and writes as much as the input says.

import { lookup } from "node:dns/promises";
import { appendFileSync, readFileSync } from "node:fs";
import net from "node:net";
import { hostname } from "node:os";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

const MIB = 1024 ** 2;

/** Returns "connected", or the code of the error. */
function reach([host, port]) {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port, timeout: 10_000 });
    const end = (result) => {
      socket.destroy();
      resolve(result);
    };
    socket.on("connect", () => end("connected"));
    socket.on("timeout", () => end("timeout"));
    socket.on("error", (error) => end(error.code));
  });
}

const read = (path) => {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return undefined;
  }
};

/** Returns the limits and the capabilities of this container. */
function limits() {
  const status = read("/proc/self/status");
  const field = (name) => status.match(new RegExp(`^${name}:\\s+(\\S+)`, "m"))[1];
  return {
    capabilities: Number.parseInt(field("CapBnd"), 16),
    noNewPrivileges: field("NoNewPrivs"),
    pids: read("/sys/fs/cgroup/pids.max") ?? read("/sys/fs/cgroup/pids/pids.max"),
    memory:
      read("/sys/fs/cgroup/memory.max") ?? read("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
  };
}

serve(manifest, {
  async predict({ names = [], targets = [], file, mebibytes = 0 }, { signal }) {
    for (let n = 0; n < mebibytes; n++) appendFileSync(file, Buffer.alloc(MIB, n));
    // The wait lets a watcher notice the written bytes.
    if (mebibytes > 0) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    const variables = Object.fromEntries(names.map((name) => [name, process.env[name] ?? null]));
    const reached = {};
    if (targets.length > 0) {
      const { address: host } = await lookup("host.docker.internal");
      for (const [name, port] of targets)
        reached[name] = await reach([name === "host" ? host : name, port]);
    }
    const [argv, uid] = [process.argv.slice(2), process.getuid()];
    return { ...limits(), variables, reached, uid, argv, pid: process.pid, hostname: hostname() };
  },
});
