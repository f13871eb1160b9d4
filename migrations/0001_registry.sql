CREATE TABLE `registry_blobs` (
	`digest` text PRIMARY KEY NOT NULL,
	`key` text NOT NULL,
	`size` integer NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `registry_bytes` (
	`user_id` text PRIMARY KEY NOT NULL,
	`bytes` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `registry_garbage` (
	`key` text PRIMARY KEY NOT NULL,
	`multipart_id` text
);
--> statement-breakpoint
CREATE TABLE `registry_holds` (
	`model_id` text NOT NULL,
	`digest` text NOT NULL,
	`until` integer NOT NULL,
	PRIMARY KEY(`model_id`, `digest`)
);
--> statement-breakpoint
CREATE INDEX `registry_holds_until` ON `registry_holds` (`until`);--> statement-breakpoint
CREATE TABLE `registry_links` (
	`model_id` text NOT NULL,
	`digest` text NOT NULL,
	`user_id` text NOT NULL,
	`size` integer NOT NULL,
	`used_at` integer NOT NULL,
	PRIMARY KEY(`model_id`, `digest`),
	FOREIGN KEY (`digest`) REFERENCES `registry_blobs`(`digest`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `registry_links_owner` ON `registry_links` (`user_id`,`digest`);--> statement-breakpoint
CREATE INDEX `registry_links_digest` ON `registry_links` (`digest`);--> statement-breakpoint
CREATE INDEX `registry_links_used` ON `registry_links` (`used_at`);--> statement-breakpoint
CREATE TABLE `registry_manifests` (
	`model_id` text NOT NULL,
	`digest` text NOT NULL,
	`user_id` text NOT NULL,
	`media_type` text NOT NULL,
	`size` integer NOT NULL,
	`subject` text,
	`artifact_type` text,
	`annotations` text,
	`named` integer NOT NULL,
	`used_at` integer NOT NULL,
	PRIMARY KEY(`model_id`, `digest`),
	FOREIGN KEY (`digest`) REFERENCES `registry_blobs`(`digest`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `registry_manifests_subject` ON `registry_manifests` (`model_id`,`subject`,`digest`) WHERE subject IS NOT NULL;--> statement-breakpoint
CREATE INDEX `registry_manifests_digest` ON `registry_manifests` (`digest`);--> statement-breakpoint
CREATE INDEX `registry_manifests_used` ON `registry_manifests` (`used_at`);--> statement-breakpoint
CREATE TABLE `registry_references` (
	`model_id` text NOT NULL,
	`manifest` text NOT NULL,
	`digest` text NOT NULL,
	PRIMARY KEY(`model_id`, `manifest`, `digest`)
);
--> statement-breakpoint
CREATE INDEX `registry_references_digest` ON `registry_references` (`model_id`,`digest`);--> statement-breakpoint
CREATE TABLE `registry_tags` (
	`model_id` text NOT NULL,
	`tag` text NOT NULL,
	`digest` text NOT NULL,
	`user_id` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`model_id`, `tag`)
);
--> statement-breakpoint
CREATE INDEX `registry_tags_digest` ON `registry_tags` (`model_id`,`digest`);--> statement-breakpoint
CREATE TABLE `registry_upload_parts` (
	`upload_id` text NOT NULL,
	`number` integer NOT NULL,
	`etag` text NOT NULL,
	PRIMARY KEY(`upload_id`, `number`),
	FOREIGN KEY (`upload_id`) REFERENCES `registry_uploads`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `registry_uploads` (
	`id` text PRIMARY KEY NOT NULL,
	`model_id` text NOT NULL,
	`user_id` text NOT NULL,
	`key` text NOT NULL,
	`multipart_id` text,
	`parts` integer DEFAULT 0 NOT NULL,
	`rest` integer DEFAULT 0 NOT NULL,
	`rest_key` text,
	`hash` text NOT NULL,
	`holder` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `registry_uploads_owner` ON `registry_uploads` (`user_id`);--> statement-breakpoint
CREATE INDEX `registry_uploads_updated` ON `registry_uploads` (`updated_at`);--> statement-breakpoint
-- A blob goes with the last repository that has it; its object in R2 is then garbage.
-- Bytes of images: a blob counts once per account, however many of its models have it. Rows weigh in the
-- account's database space as everything else does, with their indexes.
CREATE TRIGGER registry_links_added AFTER INSERT ON registry_links BEGIN
	INSERT INTO registry_bytes (user_id, bytes)
		SELECT NEW.user_id, iif(EXISTS (SELECT 1 FROM registry_links WHERE user_id = NEW.user_id AND digest = NEW.digest AND model_id <> NEW.model_id), 0, NEW.size) WHERE true
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 512)
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER registry_links_removed AFTER DELETE ON registry_links BEGIN
	UPDATE registry_bytes SET bytes = bytes - OLD.size WHERE user_id = OLD.user_id
		AND NOT EXISTS (SELECT 1 FROM registry_links WHERE user_id = OLD.user_id AND digest = OLD.digest);
	UPDATE account_bytes SET bytes = bytes - 512 WHERE user_id = OLD.user_id;
	INSERT OR IGNORE INTO registry_garbage (key) SELECT key FROM registry_blobs WHERE digest = OLD.digest
		AND NOT EXISTS (SELECT 1 FROM registry_links WHERE digest = OLD.digest)
		AND NOT EXISTS (SELECT 1 FROM registry_manifests WHERE digest = OLD.digest);
	DELETE FROM registry_blobs WHERE digest = OLD.digest
		AND NOT EXISTS (SELECT 1 FROM registry_links WHERE digest = OLD.digest)
		AND NOT EXISTS (SELECT 1 FROM registry_manifests WHERE digest = OLD.digest);
END;
--> statement-breakpoint
CREATE TRIGGER registry_manifests_added AFTER INSERT ON registry_manifests BEGIN
	INSERT INTO registry_bytes (user_id, bytes) VALUES (NEW.user_id, NEW.size)
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 1024 + 512 * NEW.named + length(CAST(coalesce(NEW.annotations, '') AS BLOB)))
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER registry_manifests_removed AFTER DELETE ON registry_manifests BEGIN
	UPDATE registry_bytes SET bytes = bytes - OLD.size WHERE user_id = OLD.user_id;
	UPDATE account_bytes SET bytes = bytes - (1024 + 512 * OLD.named + length(CAST(coalesce(OLD.annotations, '') AS BLOB))) WHERE user_id = OLD.user_id;
	DELETE FROM registry_references WHERE model_id = OLD.model_id AND manifest = OLD.digest;
	DELETE FROM registry_tags WHERE model_id = OLD.model_id AND digest = OLD.digest;
	INSERT OR IGNORE INTO registry_garbage (key) SELECT key FROM registry_blobs WHERE digest = OLD.digest
		AND NOT EXISTS (SELECT 1 FROM registry_links WHERE digest = OLD.digest)
		AND NOT EXISTS (SELECT 1 FROM registry_manifests WHERE digest = OLD.digest);
	DELETE FROM registry_blobs WHERE digest = OLD.digest
		AND NOT EXISTS (SELECT 1 FROM registry_links WHERE digest = OLD.digest)
		AND NOT EXISTS (SELECT 1 FROM registry_manifests WHERE digest = OLD.digest);
END;
--> statement-breakpoint
CREATE TRIGGER registry_tags_added AFTER INSERT ON registry_tags BEGIN
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 512)
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER registry_tags_removed AFTER DELETE ON registry_tags BEGIN
	UPDATE account_bytes SET bytes = bytes - 512 WHERE user_id = OLD.user_id;
END;
--> statement-breakpoint
CREATE TRIGGER registry_uploads_added AFTER INSERT ON registry_uploads BEGIN
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 1024)
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER registry_uploads_removed AFTER DELETE ON registry_uploads BEGIN
	UPDATE account_bytes SET bytes = bytes - 1024 WHERE user_id = OLD.user_id;
END;
--> statement-breakpoint
-- Predictions that were accepted run to their end, for four days at most: the image of a deleted version stays
-- for so long. A model's versions are deleted with it (models_deleted).
CREATE TRIGGER versions_held AFTER DELETE ON versions
	WHEN EXISTS (SELECT 1 FROM registry_manifests WHERE model_id = OLD.model_id AND digest = OLD.container_image_digest) BEGIN
	INSERT INTO registry_holds (model_id, digest, until)
		VALUES (OLD.model_id, OLD.container_image_digest, CAST(unixepoch('subsec') * 1000 AS INTEGER) + 345600000)
		ON CONFLICT (model_id, digest) DO UPDATE SET until = excluded.until;
END;
--> statement-breakpoint
CREATE TRIGGER models_untagged AFTER DELETE ON models BEGIN
	DELETE FROM registry_tags WHERE model_id = OLD.id;
END;
