/** Pushes of blobs in chunks, in and out of order. */
import { expect } from "vitest";
import { type Bytes, expectError, type Repository } from "./registry.ts";

export const OCTETS = { "content-type": "application/octet-stream" };

/** The ways of sending chunks. */
export interface Ways {
  length: number;
  /** Sends the last chunk with the PUT. */
  putsLast?: boolean;
  /** Sends a chunk of another place before each one. */
  outOfOrder?: boolean;
}

/** Pushes a blob in chunks. @returns the answer to the last request */
export async function chunked(
  repo: Repository,
  digest: string,
  body: Bytes,
  { length, putsLast, outOfOrder }: Ways,
): Promise<Response> {
  let location = await repo.begin();
  const query = `?digest=${digest}`;
  const chunk = async (first: number) => {
    const bytes = body.slice(first, first + length);
    const isLast = first + length >= body.byteLength;
    const last = first + bytes.byteLength - 1;
    return repo.send(
      isLast && putsLast ? "PUT" : "PATCH",
      location + (isLast && putsLast ? query : ""),
      {
        body: bytes,
        headers: { ...OCTETS, "content-range": `${first}-${last}` },
      },
    );
  };
  for (let first = 0; first < body.byteLength; first += length) {
    if (outOfOrder) {
      const other = first + length < body.byteLength ? first + length : 0;
      await expectError(await chunk(other), 416, "BLOB_UPLOAD_INVALID");
      const stands = await repo.send("GET", location);
      expect([stands.status, stands.headers.get("range")]).toEqual([204, `0-${first - 1}`]);
      location = stands.headers.get("location") ?? "";
    }
    const answer = await chunk(first);
    if (putsLast && first + length >= body.byteLength) return answer;
    expect(answer.status, await answer.text()).toBe(202);
    expect(answer.headers.get("range")).toBe(`0-${Math.min(first + length, body.byteLength) - 1}`);
    location = answer.headers.get("location") ?? "";
  }
  return repo.send("PUT", location + query, { headers: OCTETS });
}
