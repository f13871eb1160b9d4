/** Variables that give the server in a container the address to listen on. */
import type { ContainerInterface } from "../../../src/protocol/runner.ts";
import type { Listening } from "../interfaces/listen-watch.ts";

/**
 * Cog, TGI and TEI read PORT; llama.cpp reads LLAMA_ARG_…, which is set for OpenAI containers
 * only: a Cog model may start a llama.cpp server of its own on another port.
 */
export function listenVariables(
  kind: ContainerInterface,
  host: string,
  port: number,
): Record<string, string> {
  const [HOST, PORT] = [host, String(port)];
  return kind === "vendora"
    ? { HOST, PORT, LLAMA_ARG_HOST: HOST, LLAMA_ARG_PORT: PORT }
    : { HOST, PORT };
}

/** For a server that should listen there. */
export const listeningOf = (
  kind: ContainerInterface,
  { host, port, addresses }: Omit<Listening, "variables">,
): Listening => ({
  host,
  port,
  variables: Object.keys(listenVariables(kind, host, port)).slice(0, 2),
  addresses,
});

/**
 * The port that an image exposes, if it is exactly one. Servers that take their port as a flag,
 * such as vLLM, have it in the image.
 */
export function exposedPort(ports: Record<string, unknown> | undefined): number | undefined {
  const [port, ...others] = Object.keys(ports ?? {}).flatMap((text) => {
    const [, digits] = /^(\d+)(?:\/tcp)?$/.exec(text) ?? [];
    return digits === undefined ? [] : [Number(digits)];
  });
  return others.length === 0 ? port : undefined;
}
