/** Coding agents from npm, each in a home of its own, with the settings that its user has to make. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../../src/dev/bundle.ts";

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

export const AGENTS = {
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
export async function installAgents(access: Access): Promise<string> {
  const cache = join(ROOT, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "agents-"));
  const packs = Object.values(AGENTS).map((agent) => `${agent(access).pack}@latest`);
  const args = ["install", "--no-audit", "--no-fund", "--prefix", folder];
  await promisify(execFile)("npm", [...args, ...packs]);
  return folder;
}

/** Runs an agent on a note, and returns its output. @param proxy for all addresses but loopback */
export async function runAgent(
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
