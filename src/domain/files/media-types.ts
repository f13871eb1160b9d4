/** The only table of media types and file extensions: models go by the extension of a file. */
import { Mime } from "mime";
import other from "mime/types/other.js";
import standard from "mime/types/standard.js";

/** The standard table with what it lacks, by force: several types share an extension. */
const table = new Mime(standard, other).define(
  {
    "application/jsonl": ["jsonl"],
    "application/ogg": ["*ogg"],
    "application/vnd.apache.parquet": ["parquet"],
    "application/x-hdf5": ["h5", "hdf5"],
    "application/x-jsonlines": ["*jsonl"],
    "application/x-ndjson": ["*ndjson"],
    "application/x-npy": ["npy"],
    "application/x-yaml": ["*yaml"],
    "application/yaml": ["*yaml"],
    "application/zstd": ["zst"],
    "application/x-gzip": ["*gz"],
    "audio/aac": ["aac", "*adts"],
    "audio/x-aac": ["*aac"],
    "audio/aiff": ["*aiff"],
    "audio/flac": ["flac"],
    "audio/m4a": ["*m4a"],
    "audio/mpeg": ["mp3"],
    "audio/mpeg3": ["*mp3"],
    "audio/x-mp3": ["*mp3"],
    "audio/x-mpeg": ["*mp3"],
    "audio/ogg": ["ogg"],
    "audio/opus": ["opus"],
    "audio/vnd.wave": ["*wav"],
    "audio/webm": ["*webm"],
    "image/jpg": ["*jpg"],
    "image/x-png": ["*png"],
    "image/pjpeg": ["*jpg"],
    "text/srt": ["*srt"],
    "text/x-markdown": ["*md"],
    "text/x-python": ["*py"],
    "video/avi": ["*avi"],
    "video/matroska": ["*mkv"],
    "video/quicktime": ["mov"],
  },
  true,
);

/** Returns undefined for a type that the table lacks. */
export const extensionOf = (mimeType: string): string | undefined =>
  table.getExtension(mimeType) ?? undefined;

export const typeOfName = (name: string): string | undefined => table.getType(name) ?? undefined;

/** Returns a name for a file that came without one, such as `file.png`. */
export const madeName = (stem: string, mimeType: string): string =>
  `${stem}.${extensionOf(mimeType) ?? "bin"}`;
