/** D1 and R2 for a request, with a meter that counts the writes. */

/** D1 counts the rows of these statements; the others only read. */
const WRITES = /^\s*(?:insert|update|delete|replace)\b/i;

export interface WriteMeter {
  /** Counts rows after they were written: D1 tells their number only then. */
  wrote(rows: number): void;
  /**
   * Counts bytes before they are sent.
   * @param bytes undefined: those of the request's body, which passes through
   * @throws if they are too many
   */
  sending(bytes: number | undefined): Promise<void>;
}

export function meteredDatabase(d1: D1Database, meter: WriteMeter): D1Database {
  const originals = new WeakMap<D1PreparedStatement, D1PreparedStatement>();
  const counted = <Result extends D1Response>(result: Result): Result => {
    meter.wrote(result.meta.rows_written);
    return result;
  };
  const metered = (query: string, original: D1PreparedStatement): D1PreparedStatement => {
    const replaced = {
      bind: (...values: unknown[]) => metered(query, original.bind(...values)),
      run: async () => counted(await original.run()),
      all: async () => counted(await original.all()),
      // `raw` has no count, so `all` is used. The columns that a write returns have different names, so that
      // no value is lost in `all`.
      raw: async () => counted(await original.all()).results.map(Object.values),
    };
    const statement = new Proxy(original, {
      get: (_, name) =>
        name === "bind" || (WRITES.test(query) && name in replaced)
          ? Reflect.get(replaced, name)
          : bound(original, name),
    });
    originals.set(statement, original);
    return statement;
  };
  return {
    prepare: (query) => metered(query, d1.prepare(query)),
    batch: async <T>(statements: D1PreparedStatement[]) => {
      const results = await d1.batch<T>(statements.map((one) => originals.get(one) ?? one));
      return results.map(counted);
    },
    exec: (query) => d1.exec(query),
    withSession: (constraint) => d1.withSession(constraint),
    dump: () => d1.dump(),
  };
}

/** The methods that send their second argument. */
const SENDING: (string | symbol)[] = ["put", "uploadPart"];
/** The methods that return a multipart upload, or promise one. */
const OPENING: (string | symbol)[] = ["createMultipartUpload", "resumeMultipartUpload"];

/** @param target a bucket, or a multipart upload of one */
export function meteredBucket<Target extends object>(target: Target, meter: WriteMeter): Target {
  return new Proxy(target, {
    get(_, name) {
      const member = bound(target, name);
      if (typeof member !== "function") return member;
      if (SENDING.includes(name)) {
        return async (...args: unknown[]) => {
          await meter.sending(bytesOf(args[1]));
          return Reflect.apply(member, target, args);
        };
      }
      if (name === "get") {
        return async (...args: unknown[]) => {
          const found: unknown = await Reflect.apply(member, target, args);
          if (isObjectBody(found)) lengths.set(found.body, found.size);
          return found;
        };
      }
      if (!OPENING.includes(name)) return member;
      return (...args: unknown[]) => {
        const opened: unknown = Reflect.apply(member, target, args);
        if (opened instanceof Promise)
          return opened.then((upload: object) => meteredBucket(upload, meter));
        return typeof opened === "object" && opened !== null
          ? meteredBucket(opened, meter)
          : opened;
      };
    },
  });
}

/** Returns a member of a platform object. Its methods do not work on a proxy: they need the object itself. */
function bound(target: object, name: string | symbol): unknown {
  const member: unknown = Reflect.get(target, name);
  return typeof member === "function" ? member.bind(target) : member;
}

const lengths = new WeakMap<object, number>();

const isObjectBody = (found: unknown): found is R2ObjectBody =>
  typeof found === "object" && found !== null && "body" in found;

export function streamOfLength(bytes: number): FixedLengthStream {
  const stream = new FixedLengthStream(bytes);
  lengths.set(stream.readable, bytes);
  return stream;
}

function bytesOf(body: unknown): number | undefined {
  if (typeof body === "string") return new TextEncoder().encode(body).byteLength;
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return body.byteLength;
  if (body instanceof Blob) return body.size;
  return typeof body === "object" && body !== null ? lengths.get(body) : 0;
}
