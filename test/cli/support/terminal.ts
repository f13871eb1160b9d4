/** `auspex` in a terminal, where it can ask. `script`, which every Unix has, provides the terminal. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { COMMAND } from "../../processes/packages.ts";
import type { Home } from "./command.ts";

interface Answer {
  /** The keys that are typed, or what is done before, with what is on the screen. */
  keys: string | ((screen: string) => Promise<string>);
  /** The keys are typed once the screen matches this, below the answer before. */
  after: RegExp;
}

/** @returns the exit code, and everything that was on the screen */
export async function inTerminal(home: Home, args: string[], ...answers: Answer[]) {
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
  let seen = 0;
  const waiting = [...answers];
  child.stdout.setEncoding("utf8").on("data", (more: string) => {
    screen += more;
    // The command listens once it has drawn the question and hidden the cursor.
    const [next] = waiting;
    if (!next || !screen.includes("?25l") || !next.after.test(screen.slice(seen))) return;
    waiting.shift();
    seen = screen.length;
    const { keys } = next;
    if (typeof keys === "string") child.stdin.write(keys);
    else void keys(screen).then((typed) => child.stdin.write(typed));
  });
  const [code] = await once(child, "close");
  return { code, screen: screen + (await errors) };
}
