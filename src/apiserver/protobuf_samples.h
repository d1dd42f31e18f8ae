// Objects as the Go encoder of Kubernetes 1.33 writes them: the protobuf body in hex, and its own JSON form of the
// same.
#pragma once

#include <string>
#include <string_view>

namespace gangway::apiserver {

struct ProtobufSample {
  const char* definition;  // the schema of the object
  const char* hex;
  const char* json;
};

inline constexpr ProtobufSample kDeployment = {
    "io.k8s.api.apps.v1.Deployment",
    "6b3873000a150a07617070732f7631120a4465706c6f796d656e7412fd020a94010a0377656212001a0764656661756c7422002a003200"
    "3803420808a584d8bb0610005a0a0a0361707012037765625a080a047469657212006a120a044e6f64651a016e2201752a027631300072"
    "03612f627203632f648a013b0a016d12065570646174651a00220808a584d8bb06100032003a1e0a1c7b22663a73706563223a7b22663a"
    "7265706c69636173223a7b7d7d7d420012d5010800121e0a0a0a03617070120377656212100a04746965721202496e1a01781a01791a86"
    "010a1c0a0012001a0022002a003200380042005a0a0a036170701203776562126612480a056e67696e78120a6e67696e783a312e32372a"
    "004221120d0a0363707512060a043235306d12100a066d656d6f727912060a0436344d696a007200800100880100900100a201001a0032"
    "0042004a0052005800600068008201008a01009a0100c2010022240a0d526f6c6c696e6755706461746512130a06080010011a00120908"
    "0110001a03323525280038001a0c0800100018002000280038001a002200",
    R"({"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"default","generati)"
    R"(on":3,"creationTimestamp":"2025-01-02T03:04:05Z","labels":{"app":"web","tier":""},"ownerReferences":)"
    R"([{"apiVersion":"v1","kind":"Node","name":"n","uid":"u","controller":false}],"finalizers":["a/b","c/d)"
    R"("],"managedFields":[{"manager":"m","operation":"Update","time":"2025-01-02T03:04:05Z","fieldsV1":{"f)"
    R"(:spec":{"f:replicas":{}}}}]},"spec":{"replicas":0,"selector":{"matchLabels":{"app":"web"},"matchExpr)"
    R"(essions":[{"key":"tier","operator":"In","values":["x","y"]}]},"template":{"metadata":{"creationTimes)"
    R"(tamp":null,"labels":{"app":"web"}},"spec":{"containers":[{"name":"nginx","image":"nginx:1.27","resou)"
    R"(rces":{"requests":{"cpu":"250m","memory":"64Mi"}}}]}},"strategy":{"type":"RollingUpdate","rollingUpd)"
    R"(ate":{"maxUnavailable":1,"maxSurge":"25%"}}},"status":{}})"};

inline constexpr ProtobufSample kPod = {
    "io.k8s.api.core.v1.Pod",
    "6b3873000a090a0276311203506f6412b6020a110a017012001a0022002a0032003800420012fa010a100a0165120b12090a0012050a03"
    "3147690a0f0a0173120a32080a017818800220000a190a01741214d201110a0f1a0d0a030a016312060a016b12016612720a0163120169"
    "1a0273681a001a022d632a00320e0a00100018903f22035443502a003a060a01411201313a110a014212001a0a22080a030a017812016b"
    "420052210a1512130a012f120a080110001a04687474701a002200100018002005280030006a007200800100880100900100a201001a00"
    "2000320042004a0052005800600068008201008a01009a0100c201009202270a220a03646267120762757379626f782a0042006a007200"
    "800100880100900101a201001201631a240a0752756e6e696e671a0022002a0032003a0808a584d8bb0610004a005a0072008801001a00"
    "2200",
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","creationTimestamp":null},"spec":{"volumes":[)"
    R"({"name":"e","emptyDir":{"sizeLimit":"1Gi"}},{"name":"s","secret":{"secretName":"x","defaultMode":256)"
    R"(,"optional":false}},{"name":"t","projected":{"sources":[{"configMap":{"name":"c","items":[{"key":"k")"
    R"(,"path":"f"}]}}]}}],"containers":[{"name":"c","image":"i","command":["sh","","-c"],"ports":[{"contai)"
    R"(nerPort":8080,"protocol":"TCP"}],"env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"secretKey)"
    R"(Ref":{"name":"x","key":"k"}}}],"resources":{},"livenessProbe":{"httpGet":{"path":"/","port":"http"},)"
    R"("periodSeconds":5}}],"ephemeralContainers":[{"name":"dbg","image":"busybox","resources":{},"tty":tru)"
    R"(e,"targetContainerName":"c"}],"terminationGracePeriodSeconds":0},"status":{"phase":"Running","startT)"
    R"(ime":"2025-01-02T03:04:05Z"}})"};

inline constexpr ProtobufSample kSecret = {
    "io.k8s.api.core.v1.Secret",
    "6b3873000a0c0a027631120653656372657412450a110a017312001a0022002a0032003800420012060a0161120162120b0a0362696e12"
    "040001feff12080a046e6f6e6512001a064f706171756522070a01741202c3bc28011a002200",
    R"({"kind":"Secret","apiVersion":"v1","metadata":{"name":"s","creationTimestamp":null},"immutable":true)"
    R"(,"data":{"a":"Yg==","bin":"AAH+/w==","none":""},"stringData":{"t":"ü"},"type":"Opaque"})"};

inline constexpr ProtobufSample kLease = {
    "io.k8s.api.coordination.v1.Lease",
    "6b3873000a1f0a16636f6f7264696e6174696f6e2e6b38732e696f2f763112054c6561736512280a110a016c12001a0022002a00320038"
    "00420012130a0168220c08a584d8bb061088eadcc30228021a002200",
    R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"l","creationTimestamp":nul)"
    R"(l},"spec":{"holderIdentity":"h","renewTime":"2025-01-02T03:04:05.678901Z","leaseTransitions":2}})"};

inline constexpr ProtobufSample kSelfSubjectAccessReview = {
    "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
    "6b3873000a320a17617574686f72697a6174696f6e2e6b38732e696f2f7631121753656c665375626a6563744163636573735265766965"
    "77123f0a100a0012001a0022002a0032003800420012210a1f0a0764656661756c7412066372656174651a0022002a04706f647332003a"
    "001a08080012001a0020001a002200",
    R"({"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{"creationTimest)"
    R"(amp":null},"spec":{"resourceAttributes":{"namespace":"default","verb":"create","resource":"pods"}},")"
    R"(status":{"allowed":false}})"};

inline constexpr ProtobufSample kSubjectAccessReview = {
    "io.k8s.api.authorization.v1.SubjectAccessReview",
    "6b3873000a2e0a17617574686f72697a6174696f6e2e6b38732e696f2f763112135375626a65637441636365737352657669657712510a"
    "100a0012001a0022002a003200380042001233120f0a082f6865616c74687a12036765741a01752201672a060a026e6f12002a100a0673"
    "636f70657312060a01610a016232001a08080012001a0020001a002200",
    R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{"creationTimestamp")"
    R"(:null},"spec":{"nonResourceAttributes":{"path":"/healthz","verb":"get"},"user":"u","groups":["g"],"e)"
    R"(xtra":{"no":[],"scopes":["a","b"]}},"status":{"allowed":false}})"};

inline constexpr ProtobufSample kEviction = {
    "io.k8s.api.policy.v1.Eviction",
    "6b3873000a150a09706f6c6963792f763112084576696374696f6e123d0a180a017012001a0764656661756c7422002a00320038004200"
    "122108ffffffffffffffffff0112030a0175220a466f726567726f756e642a03416c6c1a002200",
    R"({"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"p","namespace":"default","creationTi)"
    R"(mestamp":null},"deleteOptions":{"gracePeriodSeconds":-1,"preconditions":{"uid":"u"},"propagationPoli)"
    R"(cy":"Foreground","dryRun":["All"]}})"};

inline constexpr ProtobufSample kCustomResourceDefinition = {
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
    "6b3873000a330a17617069657874656e73696f6e732e6b38732e696f2f76311218437573746f6d5265736f75726365446566696e697469"
    "6f6e12b6030a190a09746162732e782e696f12001a0022002a00320038004200128c030a04782e696f1a0f0a0474616273120022035461"
    "622a00220a4e616d657370616365643ae4020a0276311001180122d3020ad0020a00120022002a066f626a65637432003a00500060007a"
    "00900100ea01540a016c124f0a00120022002a05617272617932003a00500060007a00800104900100c201260a240a00120022002a0673"
    "7472696e6732003a00500060007a00900100a80200b80200c00200a80200b80200c00200ea01540a016d124f0a00120022002a066f626a"
    "65637432003a00500060007a00900100f20128080112240a00120022002a06737472696e6732003a00500060007a00900100a80200b802"
    "00c00200a80200b80200c00200ea01470a016e12420a00120022002a066e756d62657232003a0042050a03302e3549000000000000f83f"
    "500060007a00900100a201050a03302e35a201030a0131a80200b80200c00200ea01310a016f122c0a00120022002a066f626a65637432"
    "003a00500060007a00900100f201020801a80200b00201b80200c00200a80200b80200c002002a020a00380050001a0a12080a00120022"
    "002a001a002200",
    R"({"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"tabs.x)"
    R"(.io","creationTimestamp":null},"spec":{"group":"x.io","names":{"plural":"tabs","kind":"Tab"},"scope")"
    R"(:"Namespaced","versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"ty)"
    R"(pe":"object","properties":{"l":{"type":"array","maxItems":4,"items":{"type":"string"}},"m":{"type":")"
    R"(object","additionalProperties":{"type":"string"}},"n":{"type":"number","default":0.5,"maximum":1.5,")"
    R"(enum":[0.5,1]},"o":{"type":"object","additionalProperties":true,"x-kubernetes-preserve-unknown-field)"
    R"(s":true}}}},"subresources":{"status":{}}}]},"status":{"conditions":null,"acceptedNames":{"plural":"")"
    R"(,"kind":""},"storedVersions":null}})"};

inline constexpr ProtobufSample kDeleteOptions = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "6b3873000a130a027631120d44656c6574654f7074696f6e73120708002a03416c6c1a002200",
    R"({"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"dryRun":["All"]})"};

// The bytes that `hex` spells.
inline std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

}  // namespace gangway::apiserver
