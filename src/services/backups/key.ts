/** BACKUP_KEY. A key that is too short only prevents backups: the rest of the deployment works. */
import { conflict } from "../../errors/errors.ts";
import type { Services } from "../services.ts";

const LEAST = 32;

export const hasKey = ({ settings: { backupKeys } }: Pick<Services, "settings">): boolean =>
  backupKeys.length > 0 && backupKeys.every(({ length }) => length >= LEAST);

/** @throws ProblemError conflict */
export function requireKey(services: Pick<Services, "settings">): void {
  if (hasKey(services)) return;
  const { length } = services.settings.backupKeys;
  throw conflict(
    length === 0
      ? `Set the secret BACKUP_KEY first: at least ${LEAST} characters, from a generator.`
      : `The secret BACKUP_KEY has fewer than ${LEAST} characters: set one from a generator.`,
  );
}
