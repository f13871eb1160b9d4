// A model that looks at its sandbox from inside: its capabilities, and the hosts that it reaches.

import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import net from "node:net";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

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

serve(manifest, {
  async predict({ targets }) {
    const status = read("/proc/self/status");
    const field = (name) => status.match(new RegExp(`^${name}:\\s+(\\S+)`, "m"))[1];
    const { address: host } = await lookup("host.docker.internal");
    const facts = {
      capabilities: Number.parseInt(field("CapBnd"), 16),
      noNewPrivileges: field("NoNewPrivs"),
      pids: read("/sys/fs/cgroup/pids.max") ?? read("/sys/fs/cgroup/pids/pids.max"),
      memory:
        read("/sys/fs/cgroup/memory.max") ?? read("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
      reached: {},
    };
    for (const target of targets) {
      const [name, port] = target;
      facts.reached[name] = await reach([name === "host" ? host : name, port]);
    }
    return facts;
  },
});
