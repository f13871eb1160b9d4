/** Every sample that a model's page shows runs unchanged, in each language whose client is installed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "../../src/dev/bundle.ts";
import { World } from "./support/world.ts";

interface Sample {
  id: string;
  language: string;
  code: string;
}

const MODELS = [
  "chat",
  "text-generation",
  "embeddings",
  "image",
  "text-to-speech",
  "speech-to-text",
];

/** A PNG of one pixel. */
const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

let world: World;
let folder: string;
let origin: string;

beforeAll(async () => {
  world = await World.open({ username: "demo" });
  await world.runner("quickstart", { slots: 32, environment: { AUSPEX_CONTAINERS: "8" } });
  origin = (await world.relay()).url;
  folder = await mkdtemp(join(tmpdir(), "auspex-samples-"));
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await writeFile(join(folder, "picture.png"), Buffer.from(PICTURE, "base64"));
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

/** Reads the samples of a page for a visitor, which has no scripts. */
async function samplesOf(model: string): Promise<Sample[]> {
  const html = await (await fetch(`${origin}/models/demo/${model}/api`)).text();
  const found = html.matchAll(
    /<section data-call="([\w-]+)" data-language="(\w+)">.*?<code[^>]*>(.*?)<\/code>/gs,
  );
  return [...found].map(([, id = "", language = "", code = ""]) => ({
    id,
    language,
    code: code
      .replaceAll(/<[^>]*>/g, "")
      .replaceAll(/&(amp|lt|gt|quot|#39);/g, (entity, name) => ENTITIES[name] ?? entity),
  }));
}

async function run(command: string, args: string[]): Promise<string> {
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...process.env, HOME: folder, AUSPEX_TOKEN: world.access.token },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  expect(code, err).toBe(0);
  return out;
}

/** Sends a request as it stands, besides the length of its body. */
async function sendRaw(code: string): Promise<string> {
  const [head = "", body = ""] = code
    .replace("$AUSPEX_TOKEN", world.access.token)
    .split(/\n\n(.*)/s, 2);
  const [first = "", ...lines] = head.split("\n");
  const [method = "", path = ""] = first.split(" ");
  const headers = Object.fromEntries(lines.map((line) => line.split(": ", 2)));
  const response = await fetch(origin + path, { method, headers, body });
  expect(response.status).toBeLessThan(300);
  return response.text();
}

async function outputOf({ language, code }: Sample): Promise<string> {
  if (language === "http") return sendRaw(code);
  if (language === "js") {
    const file = join(folder, "sample.mjs");
    await writeFile(file, code);
    return run(process.execPath, [file]);
  }
  await writeFile(join(folder, ".curlrc"), "fail-with-body\nsilent\nshow-error\n");
  return run("sh", ["-c", code]);
}

test.each(MODELS)("each sample on the page of demo/%s runs unchanged", async (model) => {
  const samples = await samplesOf(model);
  expect(samples.map(({ language }) => language)).toContain("python");
  for (const sample of samples) {
    // No registry of Python packages answers here: test/journey/calls.nightly.test.ts reads these samples.
    const isForm = sample.code.includes("multipart/form-data");
    if (sample.language === "python" || isForm) continue;
    const isFile = /speech|images|edits/.test(sample.id) && sample.language !== "http";
    const output = await outputOf(sample);
    if (!isFile) expect(output.length, `${model} ${sample.id}`).toBeGreaterThan(0);
    expect(output, `${model} ${sample.id}`).not.toMatch(/"status": ?"failed"/);
  }
});
