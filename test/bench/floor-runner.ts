/** The runner of the floor: it polls, asks the container of the no-op model, and reports its answer. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT } from "../../src/dev/bundle.ts";

const [, , url = ""] = process.argv;
const probe = createServer().listen(0, "127.0.0.1");
await once(probe, "listening");
const address = probe.address();
probe.close();
const port = typeof address === "object" ? address?.port : undefined;
const container = spawn(process.execPath, [join(ROOT, "test/bench/models/noop/model.mjs")], {
  env: { ...process.env, HOST: "127.0.0.1", PORT: String(port) },
  stdio: "ignore",
});
process.on("disconnect", () => {
  container.kill("SIGKILL");
  process.exit();
});

const post = (address: string, body = "") =>
  fetch(address, { method: "POST", body, headers: { "content-type": "application/json" } });
const predict = () => post(`http://127.0.0.1:${port}/predictions`, '{"input":{}}');

async function answer(id: string): Promise<void> {
  const output = await (await predict()).text();
  await (await post(`${url}/v1/answer/${id}`, output)).arrayBuffer();
}

while (!(await predict().catch(() => undefined))?.ok) await sleep(50);
process.send?.("ready");
for (;;) {
  const ids: unknown = await (await post(`${url}/v1/poll`)).json();
  if (!Array.isArray(ids)) throw new Error("not a list of ids");
  for (const id of ids) void answer(String(id));
}
