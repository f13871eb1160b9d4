/** Models of remote hosts that make sound and images. */
import { received, script } from "./receiver.ts";
import { newRemoteWorld } from "./remote.ts";

export const FLAGS = {
  vendora_images_generations: true,
  vendora_images_edits: true,
  vendora_audio_speech: true,
  vendora_audio_transcriptions: true,
};

export const IMAGES = "/images/generations";

/** Returns a world whose host answers a path, one behaviour after the other. */
export async function newMediaWorld(path: string, ...answers: Parameters<typeof script>[1][]) {
  const world = await newRemoteWorld({ compatibilities: FLAGS });
  await script(`${world.base}${path}`, ...answers);
  const requests = (count: number) => received(`${world.base}${path}`, count);
  const last = async () => {
    const { items } = await world.client.ok<{ items: { id: string }[] }>("GET", "/v1/predictions");
    return world.client.get(items[0]?.id ?? "");
  };
  return { ...world, requests, last };
}
