/** `auspex` in a terminal, where it can ask. `script`, which every Unix has, provides the terminal. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { COMMAND } from "../../processes/packages.ts";
import type { Home } from "./command.ts";

interface Dialogue {
  /** The keys that are typed. */
  keys: string;
  /** The keys are typed once the screen matches this. */
  after: RegExp;
}

/** @returns the exit code, and everything that was on the screen */
export async function inTerminal(home: Home, args: string[], { keys, after }: Dialogue) {
  // A new terminal has no size, so the script sets one.
  const sized = ["stty cols 100 rows 30;", ...COMMAND];
  const command = [...sized, ...args].join(" ");
  const call =
    process.platform === "darwin"
      ? ["-q", "/dev/null", "sh", "-c", command]
      : ["-qec", command, "/dev/null"];
  const child = spawn("script", call, {
    cwd: home.folder,
    env: { ...home.environment, TERM: "xterm", SHELL: "/bin/sh", NO_COLOR: "1" },
  });
  const errors = text(child.stderr);
  let screen = "";
  let isTyped = false;
  child.stdout.setEncoding("utf8").on("data", (more: string) => {
    screen += more;
    // The command listens once it has drawn the question and hidden the cursor.
    if (isTyped || !screen.includes("?25l") || !after.test(screen)) return;
    isTyped = true;
    child.stdin.write(keys);
  });
  const [code] = await once(child, "close");
  return { code, screen: screen + (await errors) };
}
