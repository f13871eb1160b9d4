/**
 * A whole tool loop of each coding agent with its default settings, against a model that is as strict as
 * vLLM.
 */

import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "../../src/dev/bundle.ts";
import { publishModels } from "../../src/dev/seed.ts";
import { USERNAME } from "../journey/support/access.ts";
import { World } from "../journey/support/world.ts";

interface Access {
  url: string;
  token: string;
  /** `owner/name` */
  model: string;
}

interface AgentSetup {
  /** The package's name on npm. */
  pack: string;
  command: string;
  args: string[];
  environment: Record<string, string>;
  /** Files in the agent's home. */
  files: Record<string, string>;
}

const PROMPT = "Read the file note.txt with the shell, and tell me what it says.";

const AGENTS = {
  codex: ({ url, token, model }: Access): AgentSetup => ({
    pack: "@openai/codex",
    command: "codex",
    args: ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", PROMPT],
    environment: { AUSPEX_TOKEN: token },
    files: {
      ".codex/config.toml": `model = "${model}"
model_provider = "auspex"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.auspex]
name = "Auspex"
base_url = "${url}/openai/v1"
env_key = "AUSPEX_TOKEN"
wire_api = "responses"
`,
    },
  }),
  "claude-code": ({ url, token, model }: Access): AgentSetup => ({
    pack: "@anthropic-ai/claude-code",
    command: "claude",
    args: ["-p", PROMPT, "--allowedTools", "Bash"],
    environment: {
      ANTHROPIC_BASE_URL: `${url}/anthropic`,
      ANTHROPIC_AUTH_TOKEN: token,
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
    files: {},
  }),
  opencode: ({ url, token, model }: Access): AgentSetup => ({
    pack: "opencode-ai",
    command: "opencode",
    args: ["run", "--model", `auspex/${model}`, PROMPT],
    environment: {
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    },
    files: {
      ".config/opencode/opencode.json": JSON.stringify({
        provider: {
          auspex: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${url}/openai/v1`, apiKey: token },
            models: { [model]: { name: "Agent" } },
          },
        },
      }),
    },
  }),
  "qwen-code": ({ url, token, model }: Access): AgentSetup => ({
    pack: "@qwen-code/qwen-code",
    command: "qwen",
    args: ["--auth-type", "openai", "--yolo", "-p", PROMPT],
    environment: {
      OPENAI_API_KEY: token,
      OPENAI_BASE_URL: `${url}/openai/v1`,
      OPENAI_MODEL: model,
    },
    files: {
      ".qwen/settings.json": JSON.stringify({
        privacy: { usageStatisticsEnabled: false },
        general: { disableAutoUpdate: true, disableUpdateNag: true },
        telemetry: { enabled: false },
      }),
    },
  }),
};

/**
 * Installs the newest versions in a folder of their own: a gigabyte, too much for a file system in memory.
 */
async function installAgents(access: Access): Promise<string> {
  const cache = join(ROOT, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "agents-"));
  const packs = Object.values(AGENTS).map((agent) => `${agent(access).pack}@latest`);
  const args = ["install", "--no-audit", "--no-fund", "--prefix", folder];
  await promisify(execFile)("npm", [...args, ...packs]);
  return folder;
}

/** Runs an agent on a note, and returns its output. @param proxy for all addresses but loopback */
async function runAgent(
  { command, args, environment, files }: AgentSetup,
  folder: string,
  { note, proxy }: { note: string; proxy: string },
): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), "auspex-agent-"));
  const project = join(home, "project");
  for (const [name, content] of Object.entries({ ...files, "project/note.txt": note })) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), content);
  }
  const proxies = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
  const running = promisify(execFile)(join(folder, "node_modules/.bin", command), args, {
    cwd: project,
    env: {
      PATH: process.env.PATH,
      HOME: home,
      ...Object.fromEntries(proxies.map((name) => [name, proxy])),
      NO_PROXY: "127.0.0.1,localhost",
      no_proxy: "127.0.0.1,localhost",
      ...environment,
    },
    timeout: 240_000,
  });
  running.child.stdin?.end();
  try {
    const { stdout, stderr } = await running;
    return stdout + stderr;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

const MODEL = `${USERNAME}/agent`;

/** Addresses outside of this machine that agents ask for. All are refused. */
const refused = new Set<string>();
const proxy = createServer((request, response) => {
  refused.add(request.url ?? "");
  response.writeHead(403).end();
});
proxy.on("connect", ({ url = "" }, socket) => {
  socket.on("error", () => socket.destroy());
  const [host, port] = url.split(":");
  // Some agents send all requests to the proxy, also those to loopback.
  if (host === "127.0.0.1" || host === "localhost") {
    const direct = connect(Number(port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      direct.pipe(socket).pipe(direct);
    });
    direct.on("error", () => socket.destroy());
    return;
  }
  refused.add(url);
  socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
});

let world: World;
let models: string;
let folder: string;
let proxyUrl: string;

beforeAll(async () => {
  models = mkdtempSync(join(tmpdir(), "auspex-models-"));
  cpSync(join(ROOT, "test/nightly/models"), models, { recursive: true });
  const strict = join(ROOT, "test/journey/models/oracle/strict.mjs");
  cpSync(strict, join(models, "agent/strict.mjs"));
  world = await World.open({ publish: (owner) => publishModels(owner, USERNAME, models) });
  await world.runner("one", { slots: 8, models: { owners: [USERNAME], folder: models } });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const address = proxy.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  proxyUrl = `http://127.0.0.1:${address.port}`;
  folder = await installAgents({ ...world.access, model: MODEL });
});

afterAll(async () => {
  proxy.close();
  proxy.closeAllConnections();
  console.log("Refused to agents:", [...refused].join(", "));
  for (const one of [models, folder]) rmSync(one, { recursive: true, force: true });
  await world.close();
});

test.each(Object.keys(AGENTS) as (keyof typeof AGENTS)[])(
  "%s calls its shell and answers with the result",
  async (name) => {
    const note = `The password is ${crypto.randomUUID()}`;
    const agent = AGENTS[name]({ ...world.access, model: MODEL });
    const printed = await runAgent(agent, folder, { note, proxy: proxyUrl });
    expect(printed).toContain(note);
  },
);
