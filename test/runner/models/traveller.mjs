// A model that tests which hosts it reaches: directly, by a name, and by the proxy in its environment.

import { lookup } from "node:dns/promises";
import http from "node:http";
import net from "node:net";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

/** Resolves with "connected", or the code of the error. */
const reach = ([host, port]) =>
  new Promise((resolve) => {
    const socket = net.connect({ host, port, timeout: 10_000 });
    const end = (result) => {
      socket.destroy();
      resolve(result);
    };
    socket.on("connect", () => end("connected"));
    socket.on("timeout", () => end("timeout"));
    socket.on("error", (error) => end(error.code));
  });

/** Resolves with the text from the other end of a tunnel, or with the status that refuses it. */
const travel = (authority) =>
  new Promise((resolve) => {
    const { hostname, port, username, password } = new URL(process.env.HTTPS_PROXY);
    const basic = Buffer.from(`${username}:${password}`).toString("base64");
    const headers = { "proxy-authorization": `Basic ${basic}` };
    const options = { host: hostname, port, method: "CONNECT", path: authority, headers };
    const request = http.request(options);
    request.on("connect", (response, socket, head) => {
      if (response.statusCode !== 200) return resolve(response.statusCode);
      if (head.length > 0) return resolve(String(head));
      socket.once("data", (bytes) => resolve(String(bytes)));
    });
    request.on("error", (error) => resolve(error.code)).end();
  });

serve(manifest, {
  async predict({ targets = [], names = [], authorities = [] }) {
    const each = async (list, look) =>
      Object.fromEntries(
        await Promise.all(list.map(async (one) => [String(one), await look(one)])),
      );
    return {
      reached: await each(targets, reach),
      named: await each(names, (name) =>
        lookup(name).then(
          () => "found",
          () => "unknown",
        ),
      ),
      travelled: await each(authorities, travel),
      proxy: process.env.HTTPS_PROXY !== undefined,
    };
  },
});
