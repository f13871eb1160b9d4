import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { predictionWithIO } from "../../../src/protocol/prediction.ts";
import { Home } from "../../cli/support/command.ts";
import { duotone, pixelsOf, SAMPLE } from "../support/duotone.ts";
import { world } from "../support/shared.ts";

let home: Home;

beforeAll(() => {
  home = new Home({ AUSPEX_URL: world.access.url, AUSPEX_TOKEN: world.access.token });
});
afterAll(() => home.remove());

it("`auspex run` streams a text, and nothing else is on standard output", async () => {
  const inputs = ["prompt=The Queen", "seed=1", "max_tokens=20", "delay_ms=0"];
  const { code, out, err } = await home.run(["run", "ada/text-generation", ...inputs]);
  expect(code, err).toBe(0);
  const [id = ""] = /[0-9a-f-]{36}/.exec(err) ?? [];
  const full = await world.client.call(predictionWithIO, "GET", `/predictions/${id}`);
  expect(full.input).toEqual({ prompt: "The Queen", seed: 1, max_tokens: 20, delay_ms: 0 });
  expect(full.stream).toBe(true);
  expect(out).toBe(`${z.array(z.string()).parse(full.output).join("")}\n`);
  expect(err).toMatch(/ succeeded in [\d.]+s, \$[\d.]+\n$/);
});

it("`auspex run` uploads a file and saves one", async () => {
  const folder = join(home.folder, "pictures");
  const colours = { dark: "#102030", light: "#f0e0d0", width: 200 };
  const inputs = Object.entries(colours).map(([name, value]) => `${name}=${value}`);
  const args = ["run", "ada/duotone", `image=@${SAMPLE}`, ...inputs, "-o", folder];
  const first = await home.run(args);
  expect(first, first.err).toMatchObject({ code: 0, out: `${join(folder, "duotone.png")}\n` });
  const made = await pixelsOf(readFileSync(join(folder, "duotone.png")));
  expect(made).toEqual(await duotone(readFileSync(SAMPLE), colours));
});

it("Ctrl+C cancels the running prediction", async () => {
  const run = home.start(["run", "ada/sums", "numbers:=[1]", "mode=slow", "seconds=60"]);
  await run.says(/s to go/);
  run.child.kill("SIGINT");
  const { code, err } = await run.end();
  expect([code, err]).toEqual([130, expect.stringMatching(/auspex: Canceled [0-9a-f-]{36}\.\n$/)]);
  const [id = ""] = /[0-9a-f-]{36}(?=\.\n$)/.exec(err) ?? [];
  await world.watch(id).ended;
  expect(await world.get(id)).toMatchObject({ status: "canceled" });
});
