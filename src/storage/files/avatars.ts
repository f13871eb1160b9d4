/** Pictures of users in R2, below the id of their user: `{user id}/avatar/{SHA-256 of its bytes}`. */
import { deleteAll, deleteFile, getFile } from "./files.ts";

const avatarKey = (userId: string, hash: string) => `${userId}/avatar/${hash}`;

export const putAvatar = (
  bucket: R2Bucket,
  userId: string,
  hash: string,
  picture: { bytes: Uint8Array; type: string },
) =>
  bucket.put(avatarKey(userId, hash), picture.bytes, {
    httpMetadata: { contentType: picture.type },
  });

export const getAvatar = (bucket: R2Bucket, userId: string, hash: string) =>
  getFile(bucket, avatarKey(userId, hash));

export const deleteAvatar = (bucket: R2Bucket, userId: string, hash: string) =>
  deleteFile(bucket, avatarKey(userId, hash));

/** Deletes all pictures that a user ever had. */
export const deleteAvatars = (bucket: R2Bucket, userId: string) => deleteAll(bucket, userId);
