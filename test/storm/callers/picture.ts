/** Files in and out: a picture that is uploaded or sent in the body, and uploads that nobody completes. */
import { readFile, stat } from "node:fs/promises";
import { sendParts } from "../../../runner/src/files/send-parts.ts";
import { upload } from "../../../src/protocol/upload.ts";
import type { MadeCall } from "../history.ts";
import type { Work } from "../plan/calls.ts";
import { insist } from "./ask.ts";
import type { Ground } from "./ground.ts";
import { createAndAttend } from "./plain.ts";

type Picture = Extract<Work, { kind: "picture" }>;

export const COLOURS = [
  { dark: "#001122", light: "#ffeedd", width: 120 },
  { dark: "#3b0d2e", light: "#f0f0ff", width: 80 },
  { dark: "#000000", light: "#ffffff", width: 60 },
];

const coloursOf = ({ colours }: Pick<Picture, "colours">) => {
  const chosen = COLOURS[colours];
  if (!chosen) throw new Error(`no colours ${colours}`);
  return chosen;
};

export async function callPicture(ground: Ground, made: MadeCall, work: Picture): Promise<void> {
  const image = work.uploaded ? await send(ground, made) : await dataUri(ground);
  if (image === undefined) return;
  const input = { image, ...coloursOf(work), mark: made.call.mark };
  await createAndAttend(ground, made, { model: ground.modelOf(made.call, "duotone"), input });
}

const dataUri = async ({ sample }: Ground) =>
  `data:image/jpeg;base64,${(await readFile(sample)).toString("base64")}`;

/** @returns the address of the upload; undefined when it was not created */
async function send(ground: Ground, made: MadeCall): Promise<string | undefined> {
  const { size } = await stat(ground.sample);
  const begun = await begin(ground, made, size);
  if (!begun) return undefined;
  const { id, part_size: partSize, urls } = begun;
  const parts = { file: ground.sample, size, partSize, urls, parallel: 2, signal: ground.over };
  const etags = await sendParts(parts).catch(() => undefined);
  if (!etags) return undefined;
  const path = `/uploads/${id}/complete`;
  const answer = await insist(ground, made, "POST", path, { body: { etags } });
  return answer?.status === 200
    ? upload.parse(JSON.parse(answer.text)).url
    : refused(ground, made, path, answer);
}

export async function abandon(ground: Ground, made: MadeCall, size: number): Promise<void> {
  const begun = await begin(ground, made, size);
  const [url] = begun?.urls ?? [];
  // Uploads of an even size are left with their first part, the others with none.
  if (url && size % 2 === 0)
    await fetch(url, { method: "PUT", body: new Uint8Array(size) }).catch(() => {});
}

async function begin(ground: Ground, made: MadeCall, size: number) {
  const body = { size, mime_type: "image/jpeg", name: "landscape.jpg" };
  const answer = await insist(ground, made, "POST", "/uploads", { body });
  if (answer?.status === 200 || answer?.status === 201)
    return upload.parse(JSON.parse(answer.text));
  return refused(ground, made, "/uploads", answer);
}

function refused(
  { recorder }: Ground,
  { call }: MadeCall,
  path: string,
  answer: { status: number; text: string } | undefined,
): undefined {
  if (answer)
    recorder.odd({ what: `POST ${path}`, answer: `${answer.status}: ${answer.text}`, n: call.n });
}
