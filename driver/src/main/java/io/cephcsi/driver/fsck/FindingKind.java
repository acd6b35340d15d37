package io.cephcsi.driver.fsck;

import static io.cephcsi.driver.fsck.FindingKind.Mend.BY_FSCK;
import static io.cephcsi.driver.fsck.FindingKind.Mend.BY_HAND;

/** What can be wrong, what it means, and what mends it. */
public enum FindingKind {
  /** A directory value that is neither form of a uuid. */
  NAME_DAMAGED(
      BY_HAND,
      "the value of a name in the journal is damaged: the name cannot be used",
      "find the volume by its id, and correct or remove the key with the command rados"),
  /** A directory key whose entry is not there. */
  NAME_WITHOUT_ENTRY(
      BY_FSCK,
      "a name in the journal leads to no entry",
      "the key is removed, unless an image has the name that the entry would give it"),
  /** An entry with a value that no driver writes. */
  ENTRY_DAMAGED(
      BY_HAND,
      "a journal entry has a value that no driver writes: calls about it fail",
      "correct the key with the command rados"),
  /** An entry without one of its names. */
  ENTRY_INCOMPLETE(
      BY_HAND,
      "a journal entry lacks the name of its volume, snapshot or group, or that on the cluster",
      "set the key with the command rados, or remove the object if nothing belongs to it"),
  /** An entry that no name leads to. */
  ENTRY_WITHOUT_NAME(
      BY_FSCK,
      "no name in the journal leads to an entry: the next CreateVolume of the name makes another"
          + " volume",
      "the name is set again if the image is there; an entry without an image is removed"),
  /** An entry that the name of another one leads to. */
  NAME_DIFFERS(
      BY_HAND,
      "a name in the journal leads to an entry of another name: calls by the name fail",
      "correct the key in the directory with the command rados"),
  /** An entry in the directories of two instances. */
  ENTRY_OF_TWO_INSTANCES(
      BY_HAND,
      "the directories of two instances lead to one entry: either may delete it",
      "remove the key from the directory of the instance that does not use it"),
  /** A reservation that was not completed. */
  CREATION_UNFINISHED(
      BY_FSCK,
      "a volume or snapshot was reserved and not completed",
      "a repeated call completes it; without an image, the reservation is undone, unless a group"
          + " snapshot lists it: repeat CreateVolumeGroupSnapshot, or delete one of its volumes"),
  /** A deletion that was not completed. */
  DELETION_UNFINISHED(
      BY_FSCK,
      "the deletion of a volume or snapshot was begun and not completed",
      "a repeated call completes it; if the image is gone, the entry is removed"),
  /** A finished entry whose image does not exist. */
  IMAGE_GONE(
      BY_HAND,
      "the image of a volume or snapshot does not exist: its data are lost",
      "restore it from a backup, or delete the volume or snapshot"),
  /** An entry whose recorded image was replaced. */
  IMAGE_ID_DIFFERS(
      BY_FSCK,
      "the recorded image does not exist, and another one has its name",
      "the id of the other image is recorded, as the next call on the volume would do"),
  /** A finished entry whose image is in the trash. */
  IMAGE_IN_TRASH(
      BY_HAND,
      "the image of a volume or snapshot is in the trash, and the journal still has it",
      "restore it from the trash, or delete the volume or snapshot"),
  /** A finished entry whose image has another name. */
  IMAGE_RENAMED(
      BY_HAND,
      "the image of a volume or snapshot has another name than the journal says",
      "rename the image"),
  /** An image that two entries have recorded. */
  IMAGE_OF_TWO_ENTRIES(
      BY_HAND,
      "two journal entries have the same image: deleting one deletes the data of the other",
      "find out which one is used, and remove the other entry with the command rados"),
  /** A snapshot entry whose snapshot is not there. */
  SNAPSHOT_GONE(
      BY_HAND,
      "the RBD snapshot of a CSI snapshot does not exist: it cannot be restored",
      "delete the snapshot"),
  /** An attachment of a node that is not registered. */
  ATTACHED_TO_GONE_NODE(
      BY_HAND,
      "a volume is attached to a node that was not there within the last day",
      "call ControllerUnpublishVolume for the node, once it is sure that it is off"),
  /** An image with a name of ours that no entry has. */
  IMAGE_WITHOUT_ENTRY(
      BY_HAND,
      "no journal entry has an image whose name is of the form that drivers give",
      "if nobody needs it, move it to the trash"),
  /** An image that is not mirrored any more, and whose metadata say what its entry was. */
  MIRRORED_WITHOUT_ENTRY(
      BY_HAND,
      "an image was mirrored and is not any more, and no journal entry has it, as the first call"
          + " for its volume makes that",
      "look whether Kubernetes has a volume of its uuid: then any call for it makes the entry, if"
          + " mirroring is enabled for the pool; if nobody needs it, remove it"),
  /** A mirrored image whose metadata do not say what its entry was. */
  MIRRORED_UNKNOWN(
      BY_HAND,
      "an image is mirrored and no journal entry has it, and its metadata do not say what that was:"
          + " no call makes it",
      "look whether Kubernetes has a volume of its uuid. If that is not encrypted, set"
          + " csi.storage.k8s.io/pv/name in the metadata of the image at the primary: then the next"
          + " call for it makes the entry. If nobody needs the image, end its mirroring and remove"
          + " it"),
  /** An intermediate image whose volume is gone. */
  INTERMEDIATE_IMAGE_LEFT(
      BY_FSCK,
      "the image between two volumes is left, and the volume that it was made for is gone",
      "it is moved to the trash if its mark proves that a driver made it"),
  /** A header that no name leads to. */
  HEADER_WITHOUT_NAME(
      BY_HAND,
      "the header of an image has no name in the pool's directory, and is not in the trash",
      "it may be the remainder of a clone that was broken off, or an image that lost its name: look"
          + " at its data before it is removed with the command rados"),
  /** A name of an image without a header. */
  NAME_WITHOUT_HEADER(
      BY_HAND, "the name of an image leads to no header", "remove the name with rbd rm"),
  /** The two keys of an image in rbd_directory do not agree. */
  DIRECTORY_DIFFERS(
      BY_FSCK,
      "the pool's directory does not know an image by name and id",
      "the missing key is set, if nothing else has the name or id"),
  /** The object rbd_id.NAME is missing or leads elsewhere. */
  NAME_OBJECT_WRONG(
      BY_FSCK,
      "the object that leads from the name of an image to its id is missing or wrong: the image"
          + " cannot be opened by its name",
      "a missing object is made again"),
  /** An object map that is flagged, missing or cannot be read. */
  OBJECT_MAP_INVALID(
      BY_HAND,
      "the object map of an image is invalid: usage, diff and removal are slow",
      "rebuild it"),
  /** An object map that says an object does not exist that does. */
  OBJECT_MAP_WRONG(
      BY_HAND,
      "the object map of an image lacks objects that exist: reading them may show zeroes",
      "rebuild it before the image is used again"),
  /** An object map whose image is gone. */
  OBJECT_MAP_WITHOUT_HEADER(
      BY_HAND,
      "an object map is left of an image that is gone",
      "remove the object with the command rados"),
  /** Data objects whose header is gone. */
  DATA_WITHOUT_HEADER(
      BY_HAND,
      "data objects are left of an image whose header is gone",
      "if the image is not to be recovered, remove the objects with the command rados"),
  /** Data objects of which only snapshots are left, whose header is gone. */
  SNAPSHOT_DATA_WITHOUT_HEADER(
      BY_HAND,
      "what snapshots kept of data objects is left of an image whose header is gone",
      "no command of Ceph 16 removes it; later ones have ceph osd pool force-remove-snap, for ids"
          + " of snapshots that no image has"),
  /** A lock whose owner does not watch the image. */
  LOCK_WITHOUT_CLIENT(
      BY_HAND,
      "the owner of the lock of an image does not have it open any more",
      "librbd breaks it when the image is opened for writing; or remove it"),
  /** A mark of a reclaim without its lock. */
  RECLAIM_MARK_LEFT(
      BY_FSCK,
      "the mark of a reclaim is left on an image that nobody has locked",
      "the mark is removed"),
  /** A snapshot with a name of ours that no entry has. */
  SNAPSHOT_WITHOUT_ENTRY(
      BY_HAND,
      "an image has a snapshot whose name is of the form that drivers give, and no journal entry"
          + " needs it",
      "if nobody needs it, remove it"),
  /** A snapshot in the trash namespace without a clone. */
  TRASH_SNAPSHOT_WITHOUT_CLONE(
      BY_FSCK,
      "a removed snapshot is kept for clones, and has none: its image cannot be removed",
      "the snapshot is removed"),
  /** A clone whose parent is not there. */
  PARENT_GONE(
      BY_HAND,
      "the image or snapshot that an image was cloned from does not exist: what the clone had not"
          + " copied is lost, and it cannot be opened",
      "restore the parent, or the image from a backup"),
  /** A clone that the header of its parent does not know. */
  CLONE_UNKNOWN_TO_PARENT(
      BY_HAND,
      "an image is a clone that its parent does not know: the parent may be taken for one that"
          + " nobody needs",
      "copy the image with rbd deep cp, before its parent is removed"),
  /** An image that its parent knows as a clone, and that has no such parent. */
  CLONE_WITHOUT_PARENT(
      BY_HAND,
      "an image has lost its parent, which has it as a clone: what it had not copied reads as"
          + " zeroes",
      "do not use it before its parent is set again, or restore it from a backup"),
  /** An image that is in a group which does not exist, or does not have it. */
  IN_GONE_GROUP(
      BY_FSCK,
      "an image says that it is in a group which does not exist, or does not have it as a member:"
          + " it cannot join another",
      "the image forgets the group"),
  /** An entry of the trash without a header, or that cannot be read. */
  TRASH_ENTRY_DAMAGED(
      BY_HAND,
      "an entry of the trash has no image, or cannot be read",
      "of one without an image: rbd trash rm. One that cannot be read: remove its key from the"
          + " object rbd_trash with the command rados, and do not list the trash before: that ends"
          + " OSDs of Ceph 16"),
  /** An image in the trash that still has its name. */
  MOVE_TO_TRASH_UNFINISHED(
      BY_FSCK,
      "an image is in the trash and still has its name: moving it there was not completed",
      "the move is completed if its mark proves that a driver began it"),
  /** A deleted image that nothing keeps. */
  TRASH_REMOVABLE(
      BY_FSCK,
      "a driver deleted an image, and nothing keeps it in the trash",
      "it is removed from the trash, as the driver does it"),
  /** An image in the trash that looks like ours, without a mark. */
  TRASH_UNPROVEN(
      BY_HAND,
      "an image in the trash has a name of the form that drivers give, no mark that this driver"
          + " moved it there, and nothing keeps it",
      "if nobody needs it, remove it from the trash"),
  /** A volume group, or snapshot of a group, with a member that has no entry. */
  GROUP_MEMBER_GONE(
      BY_HAND,
      "a volume group or group snapshot has a member that the journal does not know",
      "take the member out of the group, or delete the group snapshot"),
  /** A volume group without its RBD group. */
  GROUP_GONE(
      BY_HAND,
      "the RBD group of a volume group does not exist",
      "delete the volume group, or make the RBD group anew"),
  /** A volume group whose members differ from the images of its RBD group. */
  GROUP_DIFFERS(
      BY_HAND,
      "the members of a volume group are not the images of its RBD group",
      "call ModifyVolumeGroupMembership with the members that it is to have"),
  /** A snapshot of an RBD group that was not completed. */
  GROUP_SNAPSHOT_UNFINISHED(
      BY_HAND,
      "a snapshot of the RBD group of a volume group was begun and not completed: it keeps space"
          + " and shows no state of all members",
      "remove it with rbd group snap rm"),
  /** A header of an RBD group that no name leads to. */
  GROUP_WITHOUT_NAME(
      BY_HAND,
      "the header of an RBD group has no name in the pool's directory of groups",
      "if it has no images and snapshots, remove it with the command rados"),
  /** An RBD group with a name of ours that no entry has. */
  GROUP_WITHOUT_ENTRY(
      BY_HAND,
      "no journal entry has an RBD group whose name is of the form that drivers give",
      "if nobody needs it, remove it; its images stay"),
  /** A finished volume without its subvolume. */
  SUBVOLUME_GONE(
      BY_HAND,
      "the subvolume of a volume does not exist: its data are lost",
      "restore it from a backup, or delete the volume"),
  /** A subvolume with a name of ours that no entry has. */
  SUBVOLUME_WITHOUT_ENTRY(
      BY_HAND,
      "no journal entry has a subvolume whose name is of the form that drivers give",
      "if nobody needs it, remove it"),
  /** A snapshot entry without its CephFS snapshot. */
  SUBVOLUME_SNAPSHOT_GONE(
      BY_HAND,
      "the CephFS snapshot of a CSI snapshot does not exist: it cannot be restored",
      "delete the snapshot"),
  /** A snapshot of a subvolume with a name of ours that no entry has. */
  SUBVOLUME_SNAPSHOT_WITHOUT_ENTRY(
      BY_HAND,
      "no journal entry has a snapshot of a subvolume whose name is of the form that drivers give",
      "if nobody needs it, remove it"),
  /** A removed subvolume that has no snapshot any more. */
  RETAINED_WITHOUT_SNAPSHOT(
      BY_HAND, "a removed subvolume is kept for its snapshots, and has none", "remove it"),
  /** A subvolume without a quota. */
  QUOTA_MISSING(
      BY_HAND,
      "the subvolume of a volume has no quota: it may fill the file system",
      "set the quota to the size of the volume"),
  /** A quota below the size that Kubernetes knows. */
  QUOTA_SMALLER(
      BY_HAND,
      "the quota of a subvolume is smaller than the size that Kubernetes has for the volume",
      "set the quota to the size of the volume"),
  /** A reference tracker that is wrong. */
  TRACKER_WRONG(
      BY_FSCK,
      "the reference tracker of a snapshot does not agree with the volumes that show it",
      "missing references are added; for all else see the command tracker verify"),
  /** What Kubernetes knows and the cluster has not. */
  PV_WITHOUT_ENTRY(
      BY_HAND,
      "Kubernetes has a volume or snapshot that the journal does not know",
      "restore it, or delete the object in Kubernetes"),
  /** What the cluster has and Kubernetes does not know. */
  ENTRY_WITHOUT_PV(
      BY_HAND,
      "the journal has a volume or snapshot that Kubernetes does not know",
      "if no other Kubernetes uses it, delete it by its id"),
  /** What cannot be read. */
  UNREADABLE(
      BY_HAND,
      "an object cannot be read: it is damaged, or the cluster has an error",
      "look at the message, and at the health of the cluster");

  /** Who mends a kind. */
  public enum Mend {
    /** {@code fsck --repair}, where it is proven. */
    BY_FSCK,
    /** A person. */
    BY_HAND
  }

  private final Mend mend;
  private final String meaning;
  private final String remedy;

  FindingKind(Mend mend, String meaning, String remedy) {
    this.mend = mend;
    this.meaning = meaning;
    this.remedy = remedy;
  }

  /** Who mends it. */
  public Mend mend() {
    return mend;
  }

  /** What it means for a person. */
  public String meaning() {
    return meaning;
  }

  /** What mends it. */
  public String remedy() {
    return remedy;
  }
}
