/** `auspex predictions` as a user calls it. */
import { once } from "node:events";
import { createServer } from "node:http";
import { expect, test } from "vitest";
import { Home } from "../support/command.ts";

const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const AT = "2026-11-26T00:00:00.000Z";

test("a prediction is printed with the exact digits of its input and output", async () => {
  const told = {
    ...{ id: ID, model: { owner: "ada", name: "story", version_number: 1 } },
    ...{ created_at: AT, updated_at: AT, status: "succeeded" },
    ...{ setup_time: null, execution_time: "0.412", error: null, metrics: null },
    ...{ url: `https://example.com/v1/predictions/${ID}`, stream: false, data_removed: false },
  };
  const [input, output] = ['{"seed":18446744073709551615}', '{"score":1.0}'];
  const body = `${JSON.stringify(told).slice(0, -1)},"input":${input},"output":${output}}`;
  const server = createServer((_, response) => response.end(body)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const home = new Home({ AUSPEX_URL: `http://127.0.0.1:${port}`, AUSPEX_TOKEN: "aus_x" });
  try {
    for (const args of [[], ["--json"]]) {
      const { code, out, err } = await home.run(["predictions", ID, ...args]);
      expect(code, err).toBe(0);
      expect(out.replaceAll(/\s/g, "")).toContain(input);
      expect(out.replaceAll(/\s/g, "")).toContain(output);
    }
  } finally {
    server.close();
    home.remove();
  }
});
