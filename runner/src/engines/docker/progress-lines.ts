/**
 * Docker's progress of a pull or a load: one JSON value per line. Unlike dockerode's own `followProgress`,
 * this notices a line that reports a failure, which is how Docker reports each failure after its headers.
 */
import { StringDecoder } from "node:string_decoder";
import { z } from "zod";

export const progressLine = z.object({
  id: z.string().optional(),
  status: z.string().optional(),
  progressDetail: z.object({ current: z.number(), total: z.number() }).partial().optional(),
  error: z.string().optional(),
  /** Docker 29 and later send only `errorDetail`. */
  errorDetail: z.object({ message: z.string() }).optional(),
});
export type ProgressLine = z.infer<typeof progressLine>;

/** @throws Error with Docker's message; what the stream breaks with */
export async function followLines(
  stream: NodeJS.ReadableStream,
  onLine: (line: ProgressLine) => void = () => {},
): Promise<void> {
  let failure: string | undefined;
  for await (const text of linesOf(stream)) {
    const line = parse(text);
    failure ??= line.errorDetail?.message ?? line.error;
    onLine(line);
  }
  if (failure !== undefined) throw new Error(failure);
}

async function* linesOf(stream: NodeJS.ReadableStream): AsyncGenerator<string> {
  const decoder = new StringDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.write(Buffer.from(chunk))).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  yield rest;
}

function parse(text: string): ProgressLine {
  try {
    return progressLine.parse(JSON.parse(text));
  } catch {
    return {};
  }
}
