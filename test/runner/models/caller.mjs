// A model that calls a server of this or another machine again and again, and sends to it as long as it can;
// without a port, it only ends.

import { lookup } from "node:dns/promises";
import net from "node:net";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Returns "connected", or the code of the error. After connecting, it sends a byte every 20 ms. */
function call(host, port) {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port, timeout: 10_000 });
    let talk;
    const end = (result) => {
      clearInterval(talk);
      socket.destroy();
      resolve(result);
    };
    socket.on("connect", () => {
      talk = setInterval(() => socket.write("."), 20);
    });
    socket.on("error", (error) => end(error.code));
    socket.on("close", () => end("connected"));
  });
}

serve(manifest, {
  async predict({ host = "host.docker.internal", port }, { log }) {
    if (port === undefined) return "here";
    const { address } = await lookup(host);
    let said = "";
    for (;;) {
      const result = await call(address, port);
      if (result !== said) log(result);
      said = result;
      await pause(20);
    }
  },
});
