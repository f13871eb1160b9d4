/**
 * Servers of OpenAI's API that images say they start. Hints: many images clear the entrypoint or wrap it
 * in a script.
 */
import type { ImageConfig } from "../../protocol/oci.ts";

export type KnownServer = "llama.cpp" | "sglang" | "tei" | "tgi" | "vllm";

type Command = Pick<ImageConfig["config"], "Entrypoint" | "Cmd" | "Env">;

const PROGRAMS: Record<string, KnownServer> = {
  "llama-server": "llama.cpp",
  "text-embeddings-router": "tei",
  "text-generation-launcher": "tgi",
};

/** Modules of Python, which `python3 -m` starts. */
const MODULES: Record<string, KnownServer> = {
  "sglang.launch_server": "sglang",
  "vllm.entrypoints.openai.api_server": "vllm",
};

const COMMANDS: Record<string, KnownServer> = {
  "sglang serve": "sglang",
  "vllm serve": "vllm",
};

export function knownServer({ Entrypoint, Cmd, Env }: Command): KnownServer | undefined {
  // A shell gets its command as one argument.
  const words = [...Entrypoint, ...Cmd].flatMap((argument) => argument.split(/\s+/));
  for (const [n, word] of words.entries()) {
    const program = word.split("/").at(-1) ?? "";
    const command = `${program} ${words[n + 1]}`;
    const known = own(PROGRAMS, program) ?? own(MODULES, word) ?? own(COMMANDS, command);
    if (known) return known;
  }
  if (Env.some((variable) => variable.startsWith("LLAMA_ARG_"))) return "llama.cpp";
  // Newer images of TGI have a script, and what it starts only writes logs as JSON.
  const isScript = Entrypoint.some((argument) => argument.endsWith("entrypoint.sh"));
  return isScript && Cmd.includes("--json-output") ? "tgi" : undefined;
}

const own = (table: Record<string, KnownServer>, name: string) =>
  Object.hasOwn(table, name) ? table[name] : undefined;
