/** This package: its version, and the files that lie beside the script. Bundled, it is one script. */
import { fileURLToPath } from "node:url";
import { Failure } from "./failure.ts";
import manifest from "./package.json" with { type: "json" };

export const VERSION = manifest.version;

export const USER_AGENT = `auspex/${VERSION}`;

/** The folder with package.json and templates. */
export const FOLDER = fileURLToPath(new URL(".", import.meta.url));

const NODE = manifest.engines.node.replace(">=", "");

/** npm only warns, and what is missing in an older one looks like a fault of the network. @throws Failure */
export function requireNode(running: string): void {
  if (running.localeCompare(NODE, "en", { numeric: true }) >= 0) return;
  throw new Failure(
    `This is Node ${running}, and auspex needs ${NODE} or newer. Install it from https://nodejs.org, or with your version manager (nvm install 24).`,
  );
}
