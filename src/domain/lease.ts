/** The lease token of an attempt: `<attempt>.<object id>.<secret>`. Opaque to runners. */

export interface Lease {
  attempt: number;
  objectId: string;
  secret: string;
}

export const formatLease = ({ attempt, objectId, secret }: Lease) =>
  `${attempt}.${objectId}.${secret}`;

export function parseLease(text: string): Lease | undefined {
  const [, attempt, objectId, secret] =
    /^(\d{1,6})\.([0-9a-f]{64})\.([\w-]{16,64})$/.exec(text) ?? [];
  return attempt && objectId && secret ? { attempt: Number(attempt), objectId, secret } : undefined;
}
