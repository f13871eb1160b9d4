/** The space that an account's images may take. */
import { PART_BYTES } from "../../domain/registry/chunk.ts";
import { RegistryError } from "../../errors/registry.ts";
import { byteText } from "../../lib/text.ts";
import { findImageBytes } from "../../storage/registry/bytes.ts";
import type { Services } from "../services.ts";

/** Returns the bytes of the account's images, and of uploads under way. */
export async function imageBytes({ db }: Services, userId: string): Promise<number> {
  const { stored, arriving } = await findImageBytes(db, userId, PART_BYTES);
  return stored + arriving;
}

/** @param more bytes that are about to come @throws RegistryError DENIED */
export async function requireRoom(services: Services, userId: string, more: number): Promise<void> {
  const { imageBytes: limit } = services.settings;
  const used = await imageBytes(services, userId);
  if (used + more <= limit) return;
  throw new RegistryError(
    403,
    "DENIED",
    `Your images take ${byteText(used)} of ${byteText(limit)}. Delete versions and models that you no longer need, or ask the operator to raise IMAGES_GB.`,
  );
}
