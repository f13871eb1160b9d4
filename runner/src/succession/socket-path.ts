/**
 * The socket by which the process in a seat is asked to hand on what it has. It lies in the state folder,
 * so that only the runner's user can ask: who has it gets containers, and gives some.
 */
import { type FileHandle, mkdir, open } from "node:fs/promises";

/** A socket's path may have 107 characters: a folder with a longer one is reached by its descriptor. */
const inFolder = ({ fd }: FileHandle, seat: number) => `/proc/self/fd/${fd}/seat-${seat}.sock`;

export interface SocketFolder {
  path(seat: number): string;
  /** The sockets stay. */
  close(): Promise<void>;
}

export async function openSocketFolder(folder: string): Promise<SocketFolder> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const handle = await open(folder, "r");
  return { path: (seat) => inFolder(handle, seat), close: () => handle.close() };
}
