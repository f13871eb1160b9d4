/** `auspex` in a terminal, where somebody can be asked. `script`, which every Unix has, gives it one. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { COMMAND } from "../../processes/packages.ts";
import type { Home } from "./command.ts";

interface Dialogue {
  /** What is typed. */
  keys: string;
  /** Once this is on the screen. */
  after: RegExp;
}

/** @returns how it ended, and all that was on the screen */
export async function inTerminal(home: Home, args: string[], { keys, after }: Dialogue) {
  // A terminal of its own has no size.
  const sized = ["stty cols 100 rows 30;", process.execPath, COMMAND];
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
    // It listens once it has drawn the question and hidden the cursor.
    if (isTyped || !screen.includes("?25l") || !after.test(screen)) return;
    isTyped = true;
    child.stdin.write(keys);
  });
  const [code] = await once(child, "close");
  return { code, screen: screen + (await errors) };
}
