/** The Worker's start-up time. Every isolate pays it, also an object's, and Cloudflare allows 1 s. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { ROOT } from "../../src/dev/bundle.ts";

/**
 * The start takes 300 ms on an idle machine, and twice as long on one with three times the work that it can
 * do.
 */
const LIMIT_MS = 700;
/** Other work only ever adds time, so the fastest start is the most exact. */
const MAX_TRIES = 3;
/**
 * V8 takes a sample each millisecond. A sample of more than 2 ms is of a process that waited for a processor.
 */
const MAX_SAMPLE_MICROS = 2_000;

const profile = z.object({
  nodes: z.array(z.object({ id: z.number(), callFrame: z.object({ functionName: z.string() }) })),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});

test("the Worker starts in time", async () => {
  let fastest = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < MAX_TRIES && fastest >= LIMIT_MS; tries++)
    fastest = Math.min(fastest, await startMs());
  expect(fastest).toBeGreaterThan(0);
  expect(fastest).toBeLessThan(LIMIT_MS);
}, 300_000);

async function startMs(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "auspex-startup-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "startup.cpuprofile");
  const wrangler = dirname(createRequire(import.meta.url).resolve("wrangler/package.json"));
  const args = [join(wrangler, "bin/wrangler.js"), "check", "startup", "--outfile", path];
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "true" };
  await promisify(execFile)(process.execPath, args, { cwd: ROOT, env });
  const { nodes, samples, timeDeltas } = profile.parse(JSON.parse(readFileSync(path, "utf8")));
  const names = new Map(nodes.map(({ id, callFrame }) => [id, callFrame.functionName]));
  const micros = samples.reduce(
    (sum, id, n) =>
      sum + (names.get(id) === "(idle)" ? 0 : Math.min(timeDeltas[n] ?? 0, MAX_SAMPLE_MICROS)),
    0,
  );
  return micros / 1_000;
}
