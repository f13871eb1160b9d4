/** This package: its version, and the files that lie beside the script. Bundled, it is one script. */
import { fileURLToPath } from "node:url";
import manifest from "./package.json" with { type: "json" };

export const VERSION = manifest.version;

export const USER_AGENT = `auspex/${VERSION}`;

/** The folder with package.json and templates. */
export const FOLDER = fileURLToPath(new URL(".", import.meta.url));
