/** Texts on the progress of a container's setup. */
import type { SetupProgress } from "../../protocol/event.ts";

const PHASES: Record<SetupProgress["phase"], string> = {
  pulling: "Pulling the image",
  starting: "Starting the container",
  ready: "Ready",
};

export function setupText({ phase, message, progress }: SetupProgress): string {
  const percent = progress === undefined ? "" : `, ${Math.round(progress * 100)}%`;
  return `${PHASES[phase]}${percent}${message ? `: ${message}` : ""}`;
}
