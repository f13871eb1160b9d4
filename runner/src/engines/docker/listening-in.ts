/**
 * The addresses on which the processes of a container listen. `cat` of its image reads them; for an image
 * without `cat` they are read from /proc of this machine, if Docker's processes are there.
 */
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import type Dockerode from "dockerode";
import { withTimeout } from "../../../../src/lib/timeout.ts";
import { addressesOf, listeningSockets } from "../listen-address.ts";

export const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];

const ANSWER_MS = 5_000;

/** The output of a hostile image's `cat` may be endless. */
const MAX_BYTES = 1024 * 1024;

/** Returns the addresses; undefined if they cannot be read. */
export async function listeningIn(container: Dockerode.Container): Promise<string[] | undefined> {
  const tables = (await readInside(container)) ?? (await readOutside(container));
  return tables === undefined ? undefined : addressesOf(listeningSockets(tables));
}

async function readInside(container: Dockerode.Container): Promise<string | undefined> {
  try {
    // A terminal leaves the output unframed.
    const options = { Cmd: ["cat", ...TABLES], AttachStdout: true, Tty: true };
    const exec = await container.exec(options);
    const output = await exec.start({ Tty: true });
    const reading = text(bounded(output));
    // A timeout leaves an unread stream and its connection open.
    const tables = await withTimeout(reading, ANSWER_MS, "output of cat").finally(() =>
      output.destroy(),
    );
    return isTable(tables) ? tables : undefined;
  } catch {
    return undefined;
  }
}

async function* bounded(output: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of output) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error("the output of cat is too large");
    yield chunk;
  }
}

/** The PID may belong to another process where Docker runs in a virtual machine. */
async function readOutside(container: Dockerode.Container): Promise<string | undefined> {
  try {
    const { State } = await container.inspect();
    const folder = `/proc/${State.Pid}`;
    if (!(await readFile(`${folder}/cgroup`, "utf8")).includes(container.id)) return undefined;
    const tables = await Promise.all(["tcp", "tcp6"].map((name) => readTable(folder, name)));
    return isTable(tables[0] ?? "") ? tables.join("\n") : undefined;
  } catch {
    return undefined;
  }
}

const readTable = (folder: string, name: string) =>
  readFile(`${folder}/net/${name}`, "utf8").catch(() => "");

const isTable = (read: string) => read.includes("local_address");
