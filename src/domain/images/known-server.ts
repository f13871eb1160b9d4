/**
 * Servers of OpenAI's API, recognized by the command of an image. They are only hints: many images clear the
 * entrypoint or wrap it in a script.
 */
import type { Compatibilities } from "../../protocol/model.ts";
import type { ImageConfig } from "../../protocol/oci.ts";
import { NO_COMPATIBILITIES } from "./cog-compatibilities.ts";

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
  // Newer images of TGI have a script, whose command only writes logs as JSON.
  const isScript = Entrypoint.some((argument) => argument.endsWith("entrypoint.sh"));
  return isScript && Cmd.includes("--json-output") ? "tgi" : undefined;
}

const LLAMA_FLAGS = {
  vendora_embeddings: ["--embedding", "--embeddings", "LLAMA_ARG_EMBEDDINGS"],
  vendora_rerank: ["--rerank", "--reranking", "LLAMA_ARG_RERANKING"],
} as const;

/** Values with which llama.cpp reads a variable for a flag as off. */
const OFF = ["", "0", "false", "off", "disabled"];

/**
 * Returns the compatibilities of a llama.cpp server that is set to embed or rank: it then answers nothing
 * else, and does not tell so itself. Undefined for a server that does neither.
 */
export function llamaCompatibilities({
  Entrypoint,
  Cmd,
  Env,
}: Command): Compatibilities | undefined {
  const words = [...Entrypoint, ...Cmd].flatMap((argument) => argument.split(/\s+/));
  const variables = Env.flatMap((variable) => {
    const [name = "", value = ""] = variable.split(/=(.*)/s);
    return OFF.includes(value.toLowerCase()) ? [] : [name];
  });
  const isSet = (flag: keyof typeof LLAMA_FLAGS) =>
    LLAMA_FLAGS[flag].some((name) => words.includes(name) || variables.includes(name));
  if (isSet("vendora_rerank")) return { ...NO_COMPATIBILITIES, vendora_rerank: true };
  if (isSet("vendora_embeddings")) return { ...NO_COMPATIBILITIES, vendora_embeddings: true };
  return undefined;
}

const own = (table: Record<string, KnownServer>, name: string) =>
  Object.hasOwn(table, name) ? table[name] : undefined;
