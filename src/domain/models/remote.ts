/** Remote versions: another host answers their calls, and they have no container. */
import type { Configuration } from "../../protocol/model.ts";
import type { ContainerInterface } from "../../protocol/runner.ts";

/** The place of remote versions among hardware classes, which have other names. */
export const REMOTE_HARDWARE = "remote";

/** Returns the interface of a version's server, wherever that is. */
export function interfaceOf({
  interface: spoken = "cog",
  remote,
}: Pick<Configuration, "interface" | "remote">): ContainerInterface {
  if (spoken !== "remote") return spoken;
  return remote?.api === "replicate" ? "cog" : "vendora";
}
