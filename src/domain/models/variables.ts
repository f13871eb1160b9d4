/** Variables of models at rest: each is encrypted for its model and name. */
import { decrypt, type EncryptionKeys, encrypt } from "../encryption.ts";

export type Variables = Record<string, string>;

export const encryptVariable = (
  secrets: readonly string[],
  modelId: string,
  name: string,
  value: string,
): Promise<string> => encrypt(keysFor(secrets, modelId, name), value);

/** @throws DecryptionFailed */
export async function decryptVariables(
  secrets: readonly string[],
  modelId: string,
  encrypted: Variables,
): Promise<Variables> {
  const decrypting = Object.entries(encrypted).map(async ([name, text]) => [
    name,
    await decrypt(keysFor(secrets, modelId, name), text),
  ]);
  return Object.fromEntries(await Promise.all(decrypting));
}

/** Returns the variables that a version uses. One without a value is left out: the image may not need it. */
export const pickVariables = (names: readonly string[] = [], encrypted: Variables): Variables =>
  Object.fromEntries(
    names.flatMap((name) => {
      const text = encrypted[name];
      return text === undefined ? [] : [[name, text]];
    }),
  );

const keysFor = (secrets: readonly string[], modelId: string, name: string): EncryptionKeys => ({
  secrets,
  purpose: "variables",
  context: `${modelId}:${name}`,
});
