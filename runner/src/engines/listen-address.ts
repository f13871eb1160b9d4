/** Where a server in a container is to listen, and how it is told. */
import type { ContainerInterface } from "../../../src/protocol/runner.ts";

/**
 * PORT is what Cog, TGI and TEI go by, LLAMA_ARG_… what llama.cpp does. The latter are for
 * vendora containers alone: a Cog model may start a llama.cpp of its own, on a port of its own.
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

/**
 * Of the ports that an image says it listens on, the only one; undefined for none or several.
 * Servers that take their port as a flag, as vLLM does, have it in the image.
 */
export function exposedPort(ports: Record<string, unknown> | undefined): number | undefined {
  const [port, ...others] = Object.keys(ports ?? {}).flatMap((text) => {
    const [, digits] = /^(\d+)(?:\/tcp)?$/.exec(text) ?? [];
    return digits === undefined ? [] : [Number(digits)];
  });
  return others.length === 0 ? port : undefined;
}
