/** A box whose model outputs, uploads and writes what a test says (models/files.mjs), for all tests of a file. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import type { RunSignals } from "../../../runner/src/jobs/executor.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { sized } from "../../support/sized.ts";
import { type Box, type JobOptions, openBox, QUICK } from "./containers.ts";
import type { FakeFile } from "./fake-files.ts";

export type Steps = Record<string, Record<string, Json>>[];

export const items = { variables: { ITERATOR: "1" } };
export const dataUri = (type: string, text: string) =>
  `data:${type};base64,${Buffer.from(text).toString("base64")}`;

export interface OutputBox extends Omit<Box, "run"> {
  run(steps: Steps, more?: JobOptions, stop?: RunSignals): ReturnType<Box["run"]>;
  /** Returns the file at the address. */
  stored(address: unknown): FakeFile | undefined;
  textOf(address: unknown): string | undefined;
  /** Holds stores until the returned function is called. */
  hold(which?: (url: string) => boolean): () => void;
  /** Ends a test: the next one finds no file of it. Its containers stay. */
  settle(): Promise<void>;
}

/** The largest file, in bytes; all of a run together have twice as many. */
export const MAX_FILE = sized(10_000_000, 31_000_000);

export async function openOutputBox(): Promise<OutputBox> {
  const box = await openBox(4, QUICK, {}, { max_file_bytes: MAX_FILE });
  const { files } = box.plane;
  const stored = (address: unknown) => files.stored.get(String(address));
  return {
    ...box,
    run: (steps, ...more) => box.run("files", { steps }, ...more),
    stored,
    textOf: (address) => stored(address)?.bytes.toString(),
    hold(which = () => true) {
      const gate = Promise.withResolvers<undefined>();
      files.trouble = ({ url = "" }) => (which(url) ? gate.promise : undefined);
      return () => gate.resolve(undefined);
    },
    async settle() {
      // All files of a run disappear from the disk once it has ended.
      await vi.waitFor(() => {
        const left = readdirSync(join(box.directory, "cache/outputs"), { recursive: true });
        expect(left.filter((path) => String(path).includes("/"))).toEqual([]);
      });
      files.reset();
    },
    async close() {
      await box.close();
      await vi.waitFor(() => expect(box.processes()).toEqual([]));
    },
  };
}
