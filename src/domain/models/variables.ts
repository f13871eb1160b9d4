/** Variables of models at rest: each sealed for its model and its name. */
import { decrypt, type EncryptionKeys, encrypt } from "../encryption.ts";

/** Sealed texts or values, by name. */
export type Variables = Record<string, string>;

export const encryptVariable = (
  secrets: readonly string[],
  modelId: string,
  name: string,
  value: string,
): Promise<string> => encrypt(sealing(secrets, modelId, name), value);

/** @throws Unopened */
export async function decryptVariables(
  secrets: readonly string[],
  modelId: string,
  sealed: Variables,
): Promise<Variables> {
  const opening = Object.entries(sealed).map(async ([name, text]) => [
    name,
    await decrypt(sealing(secrets, modelId, name), text),
  ]);
  return Object.fromEntries(await Promise.all(opening));
}

/** Those of a model that a version wants. One that has no value is left out: the image may do without. */
export const pickVariables = (names: readonly string[] = [], sealed: Variables): Variables =>
  Object.fromEntries(
    names.flatMap((name) => {
      const text = sealed[name];
      return text === undefined ? [] : [[name, text]];
    }),
  );

const sealing = (secrets: readonly string[], modelId: string, name: string): EncryptionKeys => ({
  secrets,
  purpose: "variables",
  place: `${modelId}:${name}`,
});
